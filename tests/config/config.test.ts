import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { readConfig } from '../../src/config/config.ts';
import { describeSettings } from '../../src/config/help.ts';
import { SETTINGS, type SettingName } from '../../src/config/settings.ts';
import { type Setting, SettingsError } from '../../src/settings/setting.ts';

const ALL = Object.entries(SETTINGS) as [SettingName, Setting<unknown>][];

/** Returns the problems of an environment, one line each. */
function problemsIn(environment: Record<string, string>): readonly string[] {
  try {
    readConfig(environment);
  } catch (error) {
    assert.ok(error instanceof SettingsError, String(error));
    return error.problems;
  }
  return [];
}

describe('A setting that is not set', () => {
  it('has the documented default', () => {
    const config = readConfig({});
    assert.equal(config.STORAGE_TYPE, 'disk');
    assert.equal(config.HOST, '127.0.0.1');
    assert.equal(config.PORT, 8080);
    assert.equal(config.DISK_ROOT, './data');
    assert.equal(config.PRESIGN_EXPIRES, 3600);
    assert.equal(config.LOG_LEVEL, 'info');
    assert.equal(config.MAX_UPLOAD_SIZE, undefined);
    assert.equal(config.SIGNING_KEY, undefined);
    assert.equal(config.READ_ONLY, false);
    assert.ok(config.WORKERS >= 1 && config.WORKERS <= 8);
  });

  it('has the same default as an empty one', () => {
    assert.deepEqual(readConfig(Object.fromEntries(ALL.map(([name]) => [name, '']))), readConfig({}));
  });

  it('is not affected by other environment variables', () => {
    assert.deepEqual(readConfig({ PATH: '/bin', port: '1', HOLDALL_PROT: '1', __proto__: 'x' }), readConfig({}));
  });
});

describe('Each setting', () => {
  it('has a valid example, a valid default and a help text', () => {
    for (const [name, { example, defaultText, help, read }] of ALL) {
      if (name !== 'SIGNING_KEY') assert.ok('value' in read(example), `${name}=${example}`);
      if (defaultText !== null) assert.ok('value' in read(defaultText), `${name}=${defaultText}`);
      assert.match(help, /\.$/, name);
    }
  });

  it('is in the help output with its default', () => {
    const help = `\n${describeSettings()}`;
    for (const line of help.split('\n')) assert.ok(line.length <= 100 || !line.trim().includes(' '), line);
    for (const [name, { defaultText }] of ALL) {
      assert.ok(help.includes(defaultText === null ? `\n  ${name}\n` : `\n  ${name} [${defaultText}]\n`), name);
    }
  });
});

describe('readConfig', () => {
  const VALID: readonly (readonly [name: SettingName, text: string, value: unknown])[] = [
    ['DISK_ROOT', '/srv/my files', '/srv/my files'],
    ['HOST', '0.0.0.0', '0.0.0.0'],
    ['HOST', '::', '::'],
    ['HOST', '[::1]', '::1'],
    ['PORT', '0', 0],
    ['PORT', '65535', 65535],
    ['WORKERS', '1', 1],
    ['WORKERS', '256', 256],
    ['READ_ONLY', 'true', true],
    ['READ_ONLY', 'false', false],
    ['PRESIGN_EXPIRES', '1', 1],
    ['PRESIGN_EXPIRES', '604800', 604_800],
    ['PRESIGN_EXPIRES', '7d', 604_800],
    ['PRESIGN_EXPIRES', '90s', 90],
    ['PRESIGN_EXPIRES', '15m', 900],
    ['PRESIGN_EXPIRES', '2000ms', 2],
    ['SESSION_LIFETIME', '12h', 43_200],
    ['MAX_EVENT_LOOP_DELAY', '250', 250],
    ['MAX_EVENT_LOOP_DELAY', '500ms', 500],
    ['MAX_EVENT_LOOP_DELAY', '2s', 2000],
    ['GITHUB_QUOTA_WAIT', '1m', 60],
    ['LOG_LEVEL', 'silent', 'silent'],
    ['SHUTDOWN_TIMEOUT', '0', 0],
    ['SIGNING_KEY', 'k'.repeat(32), Buffer.alloc(32, 'k')],
    ['SIGNING_KEY', 'é'.repeat(16), Buffer.from('é'.repeat(16))],
    ['MAX_UPLOAD_SIZE', '0', 0],
    ['MAX_UPLOAD_SIZE', '123', 123],
    ['MAX_UPLOAD_SIZE', '123B', 123],
    ['MAX_UPLOAD_SIZE', '1kB', 1000],
    ['MAX_UPLOAD_SIZE', '1KB', 1000],
    ['MAX_UPLOAD_SIZE', '1 KiB', 1024],
    ['MAX_UPLOAD_SIZE', '1.5MB', 1_500_000],
    ['MAX_UPLOAD_SIZE', '1.5mib', 1_572_864],
    ['MAX_UPLOAD_SIZE', '5GB', 5e9],
    ['MAX_UPLOAD_SIZE', '5GiB', 5 * 2 ** 30],
    ['MAX_UPLOAD_SIZE', '2TB', 2e12],
    ['MAX_UPLOAD_SIZE', '2TiB', 2 * 2 ** 40],
    ['CACHE_SIZE', '0', 0],
    ['TRUST_PROXY', 'loopback, 10.0.0.0/8,::1', ['loopback', '10.0.0.0/8', '::1']],
    ['ACCESS', 'open', 'open'],
    ['AUDIT_LOG', './audit.log', './audit.log'],
    ['AUDIT_LOG', 'off', 'off'],
  ];
  for (const [name, text, value] of VALID) {
    it(`reads ${name}=${name === 'SIGNING_KEY' ? `${text.length} characters` : text}`, () => {
      assert.deepEqual(readConfig({ ACCESS: 'open', [name]: text })[name], value);
    });
  }

  const INVALID: readonly (readonly [name: SettingName, texts: readonly string[], rule: RegExp])[] = [
    ['STORAGE_TYPE', ['ftp', 'Disk', ' disk', 'disk '], /must be one of .*disk/],
    [
      'PORT',
      ['-1', '65536', '80.5', '1e3', '0x50', 'http', ' 80', '80 ', '+80', '٨٠', '9'.repeat(400)],
      /from 0 to 65535/,
    ],
    ['WORKERS', ['0', '257', 'all'], /from 1 to 256/],
    ['READ_ONLY', ['yes', '1', 'True', 'TRUE', 'on'], /must be true or false/],
    [
      'PRESIGN_EXPIRES',
      ['0', '604801', '8d', '0s', '-1', '1.5h', '500ms'],
      /from 1 to 604800 whole seconds, with or without a unit: ms, s, m, h or d/,
    ],
    [
      'UMASK',
      ['9', '27', '0o27', '1027', '777', '0700', '100', '277', '0477'],
      /must be (three octal digits|a mask that leaves all permissions to the owner)/,
    ],
    ['LOG_LEVEL', ['loud', 'INFO'], /must be one of trace, debug, info, warn, error, fatal, silent/],
    [
      'SHUTDOWN_TIMEOUT',
      ['-1', '3601', '61m', '30 s', '30S', 's', '1h1m', '9'.repeat(400)],
      /from 0 to 3600 whole seconds/,
    ],
    ['MAX_EVENT_LOOP_DELAY', ['61s', '-1', '1w', '0.5s'], /from 0 to 60000 whole milliseconds/],
    [
      'MAX_UPLOAD_SIZE',
      [
        '-1',
        'big',
        '1e3',
        '1.MB',
        '.5MB',
        '1,5MB',
        '5 G',
        '5XB',
        '5  MB',
        '5MB ',
        'MB',
        '99999999TB',
        'NaN',
        'Infinity',
      ],
      /must be a number of bytes, with or without a unit: .*KiB/,
    ],
    ['CACHE_SIZE', ['none'], /must be a number of bytes/],
    ['TRASH_SIZE', ['0'], /must be more than 0 bytes/],
    ['VERSIONS_SIZE', ['0 GB'], /must be more than 0 bytes/],
    ['ACCESS', ['Open', 'closed', 'true'], /must be open or unset, not /],
    [
      'AUDIT_LOG',
      ['none', 'Off', 'log', 'audit.log', 'logs/'],
      /must be stdout, off, or a file path that contains a "\/"/,
    ],
    [
      'TRUST_PROXY',
      ['true', '10.0.0.0/33', 'fe80::/129', '10.0.0', 'proxy.example.org', '1.2.3.4,,5.6.7.8', '1.2.3.4/8/8'],
      /must be IP addresses, networks such as 10\.0\.0\.0\/8, or loopback/,
    ],
    ['SESSION_LIFETIME', ['59', '366d', '7 days'], /from 60 to 31536000/],
    ['IDLE_TIMEOUT', ['0', '25h'], /from 1 to 86400/],
    [
      'SECURITY_EXPIRES',
      ['2027-02-30T00:00:00Z', '2027-06-30', '2027-06-30T00:00:00', '2027-06-30T24:30:00Z', 'tomorrow'],
      /must be an existing date and time with its zone/,
    ],
  ];
  for (const [name, texts, rule] of INVALID) {
    it(`rejects an invalid ${name} with its name, the rule, its value and an example`, () => {
      for (const text of texts) {
        const [problem = '', ...others] = problemsIn({ [name]: text });
        assert.deepEqual(others, [], text);
        assert.match(problem, rule, text);
        assert.ok(problem.startsWith(`${name} must be `), problem);
        assert.ok(problem.includes(`, not ${JSON.stringify(text)}.`), problem);
        assert.ok(problem.endsWith(` Example: ${name}=${SETTINGS[name].example}`), problem);
      }
    });
  }

  it('rejects a TRUST_PROXY network that contains all addresses', () => {
    for (const text of ['0.0.0.0/0', '::/0', '10.0.0.0/0', 'loopback, ::/00']) {
      assert.match(problemsIn({ TRUST_PROXY: text }).join(), /^TRUST_PROXY must not contain a network with \/0/, text);
    }
  });

  it('reports all problems at once, each as it would be reported alone', () => {
    const invalid = Object.fromEntries(INVALID.map(([name, [text = '']]) => [name, text]));
    const alone = Object.entries(invalid).flatMap(([name, text]) => problemsIn({ [name]: text }));
    assert.equal(alone.length, INVALID.length);
    assert.deepEqual(problemsIn(invalid).toSorted(), alone.toSorted());
    assert.throws(() => readConfig(invalid), {
      name: 'SettingsError',
      message: `The settings have ${INVALID.length} errors:\n${problemsIn(invalid)
        .map((problem) => `  ${problem}`)
        .join('\n')}`,
    });
    assert.throws(() => readConfig({ PORT: 'x' }), { message: /^The settings have an error:\n {2}PORT must be / });
  });

  it('reports the length of a short SIGNING_KEY and never its value', () => {
    for (const secret of ['hunter2', 'tooshort"\n', 'x'.repeat(31)]) {
      const problems = problemsIn({ SIGNING_KEY: secret, PORT: 'http' });
      assert.equal(problems.length, 2);
      const keyProblem = problems.find((problem) => problem.startsWith('SIGNING_KEY'));
      assert.match(keyProblem ?? '', new RegExp(`at least 32 bytes, not ${secret.length}\\.`));
      assert.throws(
        () => readConfig({ SIGNING_KEY: secret, PORT: 'http' }),
        (error) => error instanceof Error && !error.message.includes(secret) && !String(error.stack).includes(secret),
      );
    }
  });

  it('treats every KEY, TOKEN, SECRET and PASSWORD as a secret', () => {
    for (const [name, { isSecret }] of ALL) {
      if (/KEY|TOKEN|SECRET|PASSWORD/.test(name)) assert.equal(isSecret, true, name);
    }
  });
});

describe('The S3 settings', () => {
  const BUCKET = {
    STORAGE_TYPE: 's3',
    S3_BUCKET: 'my.files-2',
    S3_ENDPOINT: 'https://s3.example.org/',
    S3_ACCESS_KEY_ID: 'id',
    S3_SECRET_ACCESS_KEY: 'secret/+=',
  };
  const without = (name: keyof typeof BUCKET) => ({ ...BUCKET, [name]: '' });

  it('have defaults for the region, the addressing and the concurrency', () => {
    for (const type of ['s3', 'r2']) {
      const config = readConfig({ ...BUCKET, STORAGE_TYPE: type });
      assert.equal(config.STORAGE_TYPE, type);
      assert.equal(config.S3_ENDPOINT, 'https://s3.example.org');
      assert.deepEqual([config.S3_REGION, config.S3_ADDRESSING, config.S3_CONCURRENCY], ['auto', 'path', 64]);
      assert.equal(config.S3_PUBLIC_URL, undefined);
    }
  });

  it('are required for STORAGE_TYPE=s3 only, each reported by its name', () => {
    for (const name of ['S3_BUCKET', 'S3_ACCESS_KEY_ID', 'S3_SECRET_ACCESS_KEY', 'S3_ENDPOINT'] as const) {
      const [problem = '', ...others] = problemsIn(without(name));
      assert.deepEqual(others, []);
      assert.ok(problem.startsWith(`${name} is required`) && problem.includes(`Example: ${name}=`), problem);
      assert.deepEqual(problemsIn({ ...without(name), STORAGE_TYPE: 'disk' }), []);
    }
    assert.equal(problemsIn({ STORAGE_TYPE: 'r2' }).length, 4);
  });

  it('do not require an access key for STORAGE_TYPE=s3', () => {
    const { S3_ACCESS_KEY_ID, S3_SECRET_ACCESS_KEY, ...settings } = BUCKET;
    assert.deepEqual(problemsIn(settings), []);
    assert.deepEqual(problemsIn({ ...settings, S3_ACCESS_KEY_ID, S3_SECRET_ACCESS_KEY, S3_SESSION_TOKEN: 'a' }), []);
    assert.equal(problemsIn({ ...settings, S3_SESSION_TOKEN: 'a' }).length, 2);
  });

  it('do not require S3_ENDPOINT for an AWS region, except for R2', () => {
    assert.deepEqual(problemsIn({ ...without('S3_ENDPOINT'), S3_REGION: 'eu-central-1' }), []);
    assert.equal(problemsIn({ ...without('S3_ENDPOINT'), S3_REGION: 'eu-central-1', STORAGE_TYPE: 'r2' }).length, 1);
  });

  it('are reported without the password in an S3_ENDPOINT URL', () => {
    const [problem = ''] = problemsIn({ ...BUCKET, S3_ENDPOINT: 'https://user:hunter2@s3.example.org' });
    assert.match(problem, /^S3_ENDPOINT must be a URL without user/);
    assert.doesNotMatch(problem, /hunter2/);
  });

  it('are rejected once each when they are invalid, without their secrets', () => {
    const invalid = {
      S3_BUCKET: ['..', 's3://files', 'files/photos', 'two words', 'https://files'],
      S3_ENDPOINT: [
        's3.example.org',
        'ftp://s3.example.org',
        'https://s3.example.org/files',
        'https://a@b',
        'https://x/?y',
      ],
      S3_PUBLIC_URL: ['files.example.org', 'https://files.example.org/?x=1', 'https://files.example.org/#x'],
      S3_REGION: ['eu central', 'x/../y', 'evil.example/#'],
      S3_ADDRESSING: ['subdomain', 'Path'],
      S3_CONCURRENCY: ['0', '1001', 'many'],
      S3_ACCESS_KEY_ID: ['two words', 'naïve'],
      S3_SECRET_ACCESS_KEY: ['two words', 'naïve\n'],
    };
    for (const [name, texts] of Object.entries(invalid)) {
      for (const text of texts) {
        const [problem = '', ...others] = problemsIn({ ...BUCKET, [name]: text });
        assert.deepEqual(others, []);
        assert.ok(problem.startsWith(`${name} must `), problem);
        if (name.includes('KEY')) assert.ok(!problem.includes(text), problem);
      }
    }
  });
});

describe('The GitHub settings', () => {
  const TOKEN = 'github_pat_11ABCDEFG0hunter2';
  const REPOSITORY = {
    STORAGE_TYPE: 'github',
    GITHUB_OWNER: 'octo-cat',
    GITHUB_REPO: 'my.files_2',
    GITHUB_TOKEN: TOKEN,
  };

  it('have defaults for github.com', () => {
    const config = readConfig(REPOSITORY);
    assert.deepEqual(
      Object.entries(config).filter(([name]) => name.startsWith('GITHUB_')),
      [
        ['GITHUB_OWNER', 'octo-cat'],
        ['GITHUB_REPO', 'my.files_2'],
        ['GITHUB_TOKEN', TOKEN],
        ['GITHUB_BRANCH', 'main'],
        ['GITHUB_CREATE_BRANCH', false],
        ['GITHUB_API_URL', 'https://api.github.com'],
        ['GITHUB_COMMIT_MESSAGE', '{summary}'],
        ['GITHUB_TRUST', 2],
        ['GITHUB_QUOTA_WAIT', 10],
        ['GITHUB_WRITES_PER_MINUTE', 80],
        ['GITHUB_CACHE_SIZE', 2 ** 30],
      ],
    );
  });

  it('are read unchanged, except for a trailing slash of a URL', () => {
    const valid: readonly (readonly [SettingName, string, unknown?])[] = [
      ['GITHUB_OWNER', 'a'],
      ['GITHUB_OWNER', 'x'.repeat(39)],
      ['GITHUB_OWNER', 'octocat_corp'],
      ['GITHUB_REPO', '.github'],
      ['GITHUB_REPO', 'x'.repeat(100)],
      ['GITHUB_TOKEN', TOKEN],
      ['GITHUB_BRANCH', 'feature/some-thing_2.0'],
      ['GITHUB_BRANCH', 'größer'],
      ['GITHUB_BRANCH', 'a@b'],
      ['GITHUB_API_URL', 'https://github.example.org/api/v3/', 'https://github.example.org/api/v3'],
      ['GITHUB_API_URL', 'http://127.0.0.1:3000', 'http://127.0.0.1:3000'],
      ['GITHUB_COMMIT_MESSAGE', 'files: {summary} ({count}) [skip ci] €'],
      ['GITHUB_TRUST', '0', 0],
      ['GITHUB_TRUST', '3600', 3600],
      ['GITHUB_QUOTA_WAIT', '0', 0],
      ['GITHUB_WRITES_PER_MINUTE', '0', 0],
      ['GITHUB_CACHE_SIZE', '0', 0],
      ['GITHUB_CACHE_SIZE', '10GiB', 10 * 2 ** 30],
    ];
    for (const [name, text, value = text] of valid) {
      assert.equal(readConfig({ ...REPOSITORY, [name]: text })[name], value, `${name}=${text}`);
    }
  });

  it('are required for STORAGE_TYPE=github only, each reported by its name', () => {
    for (const name of ['GITHUB_OWNER', 'GITHUB_REPO'] as const) {
      const [problem = '', ...others] = problemsIn({ ...REPOSITORY, [name]: '' });
      assert.deepEqual(others, []);
      assert.ok(problem.startsWith(`${name} is required for STORAGE_TYPE=github. Example: ${name}=`), problem);
    }
    assert.deepEqual(problemsIn({ GITHUB_OWNER: '', GITHUB_REPO: '' }), []);
    assert.equal(problemsIn({ STORAGE_TYPE: 'github' }).length, 3);
  });

  it('require GITHUB_TOKEN unless READ_ONLY=true', () => {
    const without = { ...REPOSITORY, GITHUB_TOKEN: '' };
    const [problem = '', ...others] = problemsIn(without);
    assert.deepEqual(others, []);
    assert.ok(problem.startsWith('GITHUB_TOKEN is required for STORAGE_TYPE=github, unless READ_ONLY=true.'), problem);
    assert.equal(readConfig({ ...without, READ_ONLY: 'true' }).GITHUB_TOKEN, undefined);
  });

  it('require both the name and the email address of the author, or neither', () => {
    const both = { GITHUB_AUTHOR_NAME: 'Jane Doe', GITHUB_AUTHOR_EMAIL: 'jane@example.org' };
    const { GITHUB_AUTHOR_NAME, GITHUB_AUTHOR_EMAIL } = readConfig({ ...REPOSITORY, ...both });
    assert.deepEqual({ GITHUB_AUTHOR_NAME, GITHUB_AUTHOR_EMAIL }, both);
    for (const name of ['GITHUB_AUTHOR_NAME', 'GITHUB_AUTHOR_EMAIL'] as const) {
      const [problem = '', ...others] = problemsIn({ ...REPOSITORY, ...both, [name]: '' });
      assert.deepEqual(others, []);
      assert.ok(
        problem.startsWith(`${name} is required with GITHUB_AUTHOR_`) && problem.includes(`Example: ${name}=`),
        problem,
      );
    }
    // An invalid half is reported once, as invalid.
    const [problem = '', ...others] = problemsIn({ ...REPOSITORY, ...both, GITHUB_AUTHOR_EMAIL: 'jane' });
    assert.deepEqual(others, []);
    assert.match(problem, /^GITHUB_AUTHOR_EMAIL must be an email address/);
  });

  it('default to one worker', () => {
    assert.equal(readConfig(REPOSITORY).WORKERS, 1);
    assert.equal(readConfig({ ...REPOSITORY, WORKERS: '3' }).WORKERS, 3);
    assert.equal(readConfig({}).WORKERS, Number(SETTINGS.WORKERS.defaultText));
  });

  it('are rejected once each when they are invalid, without their secrets', () => {
    const invalid = {
      GITHUB_OWNER: ['octocat/my-files', '-octocat', 'octo cat', 'x'.repeat(40), 'https://github.com/octocat', '..'],
      GITHUB_REPO: ['octocat/my-files', '..', '.', 'my files', 'x'.repeat(101), 'https://github.com/octocat/my-files'],
      GITHUB_TOKEN: [`${TOKEN} `, `${TOKEN}\n`, 'hünter2'],
      GITHUB_BRANCH: [
        'refs/heads/main',
        'two words',
        'a..b',
        'a//b',
        'a/',
        '.a',
        'a/.b',
        'a.lock',
        'a.lock/b',
        'a.',
        '-a',
        '@',
        'a@{1}',
        'a~1',
        'a^',
        'a:b',
        'a?',
        'a*',
        'a[',
        'a\\b',
        'a\tb',
        'x'.repeat(256),
      ],
      GITHUB_CREATE_BRANCH: ['yes', '1'],
      GITHUB_API_URL: ['api.github.com', 'ftp://api.github.com', `https://${TOKEN}@api.github.com`, 'https://x/?y'],
      GITHUB_COMMIT_MESSAGE: ['two\nlines', 'x'.repeat(501), ' '],
      GITHUB_TRUST: ['-1', '3601', '2h', '0.5'],
      GITHUB_QUOTA_WAIT: ['-1', '3601', '2w'],
      GITHUB_WRITES_PER_MINUTE: ['-1', '100001', 'many'],
      GITHUB_CACHE_SIZE: ['none', '-1'],
    };
    for (const [name, texts] of Object.entries(invalid)) {
      for (const text of texts) {
        const [problem = '', ...others] = problemsIn({ ...REPOSITORY, [name]: text });
        assert.deepEqual(others, [], `${name}=${text}`);
        assert.ok(problem.startsWith(`${name} must `), problem);
        assert.ok(!problem.includes(TOKEN), problem);
        if (name === 'GITHUB_TOKEN') assert.ok(!problem.includes(text), problem);
      }
    }
  });
});

describe('The access settings', () => {
  const FILE = { ACCESS_FILE: 'access.json' };

  it('require ACCESS_FILE or ACCESS=open for a HOST that is not loopback', () => {
    for (const HOST of ['127.0.0.1', '127.1.2.3', 'localhost', '::1', 'LOCALHOST']) {
      assert.deepEqual(problemsIn({ HOST }), [], HOST);
    }
    for (const HOST of [
      '0.0.0.0',
      '::',
      '192.168.0.2',
      'files.example.org',
      '127.example.org',
      'localhost.example.org',
    ]) {
      const [problem = '', ...others] = problemsIn({ HOST });
      assert.deepEqual(others, []);
      assert.match(problem, /^ACCESS_FILE is required, because other machines can reach HOST=.* or ACCESS=open/);
      assert.deepEqual(problemsIn({ HOST, ACCESS: 'open' }), []);
      assert.deepEqual(problemsIn({ HOST, ...FILE }), []);
    }
  });

  it('require ACCESS_FILE or ACCESS=open with PUBLIC_URL or TRUST_PROXY, even on loopback', () => {
    const environments: readonly Record<string, string>[] = [
      { PUBLIC_URL: 'https://files.example.org' },
      { TRUST_PROXY: 'loopback' },
    ];
    for (const environment of environments) {
      const [problem = '', ...others] = problemsIn(environment);
      assert.deepEqual(others, []);
      assert.match(problem, /^ACCESS_FILE is required for (PUBLIC_URL|TRUST_PROXY)\./);
      assert.deepEqual(problemsIn({ ...environment, ...FILE }), []);
      assert.deepEqual(problemsIn({ ...environment, ACCESS: 'open' }), []);
    }
  });

  it('reject AUDIT_READS without an audit log', () => {
    assert.deepEqual(problemsIn({ AUDIT_READS: 'true' }), []);
    assert.deepEqual(problemsIn({ AUDIT_READS: 'true', AUDIT_LOG: 'off' }), [
      'AUDIT_READS=true needs an audit log, but AUDIT_LOG is off. Example: AUDIT_LOG=/var/log/holdall/audit.log',
    ]);
  });

  it('reject ACCESS=open together with ACCESS_FILE', () => {
    assert.deepEqual(problemsIn({ ACCESS: 'open', ...FILE }), [
      'ACCESS=open and ACCESS_FILE exclude each other. Remove one of them.',
    ]);
  });

  it('are reported with the required settings that are missing', () => {
    const firstSentences = (environment: Record<string, string>) =>
      problemsIn(environment).map((problem) => problem.split('. ')[0]);
    const OIDC_ISSUER = 'https://login.example.org';
    assert.deepEqual(firstSentences({ OIDC_ISSUER }), [
      'OIDC_CLIENT_ID is required for OIDC_ISSUER',
      'PUBLIC_URL is required for OIDC_ISSUER',
      'ACCESS_FILE is required for OIDC_ISSUER',
    ]);
    assert.deepEqual(firstSentences({ OIDC_CLIENT_ID: 'a', OIDC_CLIENT_SECRET: 'b' }), [
      'OIDC_ISSUER is required for OIDC_CLIENT_ID',
      'OIDC_ISSUER is required for OIDC_CLIENT_SECRET',
    ]);
    assert.deepEqual(firstSentences({ JWT_ISSUER: 'https://login.example.org' }), [
      'JWT_AUDIENCE is required for JWT_ISSUER',
      'ACCESS_FILE is required for JWT_ISSUER',
    ]);
    const PUBLIC_URL = 'https://files.example.org';
    assert.deepEqual(problemsIn({ OIDC_ISSUER, OIDC_CLIENT_ID: 'holdall', PUBLIC_URL, ...FILE }), []);
  });

  it('require https for JWT_ISSUER, except on loopback', () => {
    for (const JWT_ISSUER of ['https://a.example/realms/b', 'http://127.0.0.1:3000', 'http://localhost:3000/']) {
      assert.deepEqual(problemsIn({ JWT_ISSUER, JWT_AUDIENCE: 'a', ...FILE }), []);
    }
    for (const JWT_ISSUER of ['http://a.example', 'http://localhost.example', 'ftp://a.example', 'a.example']) {
      assert.match(problemsIn({ JWT_ISSUER, JWT_AUDIENCE: 'a', ...FILE }).join(), /^JWT_ISSUER must be a URL/);
    }
  });

  it('require a CONTENT_ORIGIN with a host name other than that of PUBLIC_URL', () => {
    const PUBLIC_URL = 'https://files.example.org/below';
    const CONTENT_ORIGIN = 'https://contents.example.org';
    assert.deepEqual(problemsIn({ PUBLIC_URL, CONTENT_ORIGIN, ...FILE }), []);
    const [sameHost = ''] = problemsIn({ PUBLIC_URL, CONTENT_ORIGIN: 'https://FILES.example.org:8443/', ...FILE });
    assert.match(sameHost, /^CONTENT_ORIGIN must have another host than PUBLIC_URL/);
    assert.match(problemsIn({ CONTENT_ORIGIN: 'http://[::1]:8080' }).join(), /^CONTENT_ORIGIN must have a host name/);
  });

  it('accept the URL of a PostgreSQL database, and never report it', () => {
    for (const url of ['postgres://ann:hunter2@db.example.org/files', 'postgresql:///files?host=/run/postgresql']) {
      assert.deepEqual(problemsIn({ DATABASE_URL: url }), []);
    }
    for (const url of ['postgres://ann:hunter2@db', 'mysql://ann:hunter2@db/files', 'hunter2']) {
      assert.deepEqual(problemsIn({ DATABASE_URL: url }), [
        'DATABASE_URL must be a URL that begins with postgres:// and ends with the name of a database. Example: DATABASE_URL=postgres://holdall:password@postgres.example.org/holdall',
      ]);
    }
  });

  it('never report the REDIS_URL, which may contain a password', () => {
    const [problem = ''] = problemsIn({ REDIS_URL: 'http://default:hunter2@redis.example.org' });
    assert.match(problem, /^REDIS_URL must be a URL that begins with redis:\/\/ or rediss:\/\/\. Example: /);
  });
});

describe('The tracing settings', () => {
  it('are parsed as specified by OpenTelemetry', () => {
    const config = readConfig({
      OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:4318/',
      OTEL_EXPORTER_OTLP_HEADERS: 'authorization=Bearer%20abc==, x-scope = a%2Cb ,empty=',
      OTEL_RESOURCE_ATTRIBUTES: 'deployment.environment.name=a b,__proto__=x',
      OTEL_TRACES_SAMPLER_ARG: '.25',
    });
    assert.equal(config.OTEL_EXPORTER_OTLP_ENDPOINT, 'http://127.0.0.1:4318');
    assert.deepEqual(config.OTEL_EXPORTER_OTLP_HEADERS, { authorization: 'Bearer abc==', 'x-scope': 'a,b', empty: '' });
    assert.deepEqual(Object.entries(config.OTEL_RESOURCE_ATTRIBUTES ?? {}), [
      ['deployment.environment.name', 'a b'],
      ['__proto__', 'x'],
    ]);
    assert.equal(config.OTEL_TRACES_SAMPLER_ARG, 0.25);
  });

  it('are rejected once each when they are invalid, without their secrets', () => {
    const invalid = {
      OTEL_EXPORTER_OTLP_ENDPOINT: ['127.0.0.1:4318', 'grpc://127.0.0.1:4317', 'https://a:hunter2@x'],
      OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: ['collector', 'https://x/v1/traces?key=hunter2'],
      OTEL_EXPORTER_OTLP_HEADERS: [
        'hunter2',
        'a=b,hunter2',
        '=hunter2',
        'two words=hunter2',
        'a=hunter2%',
        'a=hun\nter2',
      ],
      OTEL_RESOURCE_ATTRIBUTES: ['x', 'a=1,,b=2', 'a=\u0007'],
      OTEL_EXPORTER_OTLP_PROTOCOL: ['grpc', 'http/json'],
      OTEL_TRACES_EXPORTER: ['console'],
      OTEL_TRACES_SAMPLER: ['jaeger_remote', 'on'],
      OTEL_TRACES_SAMPLER_ARG: ['1.01', '-1', 'half', '1e-2', '.'],
      OTEL_SDK_DISABLED: ['yes'],
    };
    for (const [name, texts] of Object.entries(invalid)) {
      for (const text of texts) {
        const [problem = '', ...others] = problemsIn({ [name]: text });
        assert.deepEqual(others, [], text);
        assert.ok(problem.startsWith(`${name} must `) && problem.includes(`Example: ${name}=`), `${text}: ${problem}`);
        assert.doesNotMatch(problem, /hunter2/);
      }
    }
  });
});
