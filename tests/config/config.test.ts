import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { readConfig, SettingsError } from '../../src/config/config.ts';
import { helpText } from '../../src/config/help.ts';
import { SETTINGS, type Setting, type SettingName } from '../../src/config/settings.ts';

const ALL = Object.entries(SETTINGS) as [SettingName, Setting<unknown>][];

/** The mistakes in an environment, a line each. */
function mistakesIn(environment: Record<string, string>): readonly string[] {
  try {
    readConfig(environment);
  } catch (error) {
    assert.ok(error instanceof SettingsError, String(error));
    return error.problems;
  }
  return [];
}

describe('settings that are not set', () => {
  it('have the defaults that are documented', () => {
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

  it('are the same when they are empty, as a line NAME= of a file makes them', () => {
    assert.deepEqual(readConfig(Object.fromEntries(ALL.map(([name]) => [name, '']))), readConfig({}));
  });

  it('are the same whatever else is in the environment', () => {
    assert.deepEqual(readConfig({ PATH: '/bin', port: '1', HOLDALL_PORT: '1', __proto__: 'x' }), readConfig({}));
  });
});

describe('each setting', () => {
  it('has an example that is right, a default that is right, and a help', () => {
    for (const [name, { example, fallback, help, read }] of ALL) {
      if (name !== 'SIGNING_KEY') assert.ok('value' in read(example), `${name}=${example}`);
      if (fallback !== null) assert.ok('value' in read(fallback), `${name}=${fallback}`);
      assert.match(help, /\.$/, name);
    }
  });

  it('stands in the help with its default', () => {
    const help = helpText('1.2.3');
    assert.match(help, /^Holdall 1\.2\.3/);
    for (const [name, { fallback }] of ALL) {
      assert.ok(help.includes(fallback === null ? `\n  ${name}\n` : `\n  ${name} [${fallback}]\n`), name);
    }
  });
});

describe('what is set', () => {
  const RIGHT: readonly (readonly [name: SettingName, text: string, value: unknown])[] = [
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
  for (const [name, text, value] of RIGHT) {
    it(`reads ${name}=${name === 'SIGNING_KEY' ? `${text.length} letters` : text}`, () => {
      assert.deepEqual(readConfig({ ACCESS: 'open', [name]: text })[name], value);
    });
  }

  const WRONG: readonly (readonly [name: SettingName, texts: readonly string[], rule: RegExp])[] = [
    ['STORAGE_TYPE', ['ftp', 'Disk', ' disk', 'disk '], /must be one of .*disk/],
    [
      'PORT',
      ['-1', '65536', '80.5', '1e3', '0x50', 'http', ' 80', '80 ', '+80', '٨٠', '9'.repeat(400)],
      /from 0 to 65535/,
    ],
    ['WORKERS', ['0', '257', 'all'], /from 1 to 256/],
    ['READ_ONLY', ['yes', '1', 'True', 'TRUE', 'on'], /must be true or false/],
    ['PRESIGN_EXPIRES', ['0', '604801', '1h', '-1'], /from 1 to 604800/],
    ['LOG_LEVEL', ['loud', 'INFO'], /must be one of trace, debug, info, warn, error, fatal, silent/],
    ['SHUTDOWN_TIMEOUT', ['-1', '3601', '30s'], /from 0 to 3600/],
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
    ['ACCESS', ['Open', 'closed', 'true'], /must be open, or not be set, and is /],
    [
      'AUDIT_LOG',
      ['none', 'Off', 'log', 'audit.log', 'logs/'],
      /must be stdout, off, or the path of a file with a "\/" in it/,
    ],
    [
      'TRUST_PROXY',
      ['true', '10.0.0.0/33', 'fe80::/129', '10.0.0', 'proxy.example.org', '1.2.3.4,,5.6.7.8', '1.2.3.4/8/8'],
      /must be addresses of IP, networks such as 10\.0\.0\.0\/8, or loopback/,
    ],
    ['SESSION_LIFETIME', ['59', '7d'], /from 60 to 31536000/],
    ['IDLE_TIMEOUT', ['0', '1m'], /from 1 to 86400/],
    [
      'SECURITY_EXPIRES',
      ['2027-02-30T00:00:00Z', '2027-06-30', '2027-06-30T00:00:00', '2027-06-30T24:30:00Z', 'tomorrow'],
      /must be an existing date and time with its zone/,
    ],
  ];
  for (const [name, texts, rule] of WRONG) {
    it(`refuses a wrong ${name} with its name, the rule, what it is and an example`, () => {
      for (const text of texts) {
        const [problem = '', ...others] = mistakesIn({ [name]: text });
        assert.deepEqual(others, [], text);
        assert.match(problem, rule, text);
        assert.ok(problem.startsWith(`${name} must be `), problem);
        assert.ok(problem.includes(`, and is ${JSON.stringify(text)}.`), problem);
        assert.ok(problem.endsWith(` Example: ${name}=${SETTINGS[name].example}`), problem);
      }
    });
  }

  it('refuses to trust everybody as a proxy', () => {
    for (const text of ['0.0.0.0/0', '::/0', '10.0.0.0/0', 'loopback, ::/00']) {
      assert.match(
        mistakesIn({ TRUST_PROXY: text }).join(),
        /^TRUST_PROXY must be the proxies alone: .* everybody/,
        text,
      );
    }
  });

  it('is refused with every mistake at once, and each as it stands alone', () => {
    const wrong = Object.fromEntries(WRONG.map(([name, [text = '']]) => [name, text]));
    const alone = Object.entries(wrong).flatMap(([name, text]) => mistakesIn({ [name]: text }));
    assert.equal(alone.length, WRONG.length);
    assert.deepEqual(mistakesIn(wrong).toSorted(), alone.toSorted());
    assert.throws(() => readConfig(wrong), {
      name: 'SettingsError',
      message: `The settings have ${WRONG.length} mistakes:\n${mistakesIn(wrong)
        .map((problem) => `  ${problem}`)
        .join('\n')}`,
    });
    assert.throws(() => readConfig({ PORT: 'x' }), { message: /^The settings have a mistake:\n {2}PORT must be / });
  });

  it('is refused without a secret being told: its name, its length and how long it has to be', () => {
    for (const secret of ['hunter2', 'tooshort"\n', 'x'.repeat(31)]) {
      const problems = mistakesIn({ SIGNING_KEY: secret, PORT: 'http' });
      assert.equal(problems.length, 2);
      const about = problems.find((problem) => problem.startsWith('SIGNING_KEY'));
      assert.match(about ?? '', new RegExp(`at least 32 bytes, and has ${secret.length}\\.`));
      assert.throws(
        () => readConfig({ SIGNING_KEY: secret, PORT: 'http' }),
        (error) => error instanceof Error && !error.message.includes(secret) && !String(error.stack).includes(secret),
      );
    }
  });

  it('holds every secret to that: none is ever described', () => {
    for (const [name, { isSecret }] of ALL) {
      if (/KEY|TOKEN|SECRET|PASSWORD/.test(name)) assert.equal(isSecret, true, name);
    }
  });
});

describe('the settings of a bucket', () => {
  const BUCKET = {
    STORAGE_TYPE: 's3',
    S3_BUCKET: 'my.files-2',
    S3_ENDPOINT: 'https://s3.example.org/',
    S3_ACCESS_KEY_ID: 'id',
    S3_SECRET_ACCESS_KEY: 'secret/+=',
  };
  const without = (name: keyof typeof BUCKET) => ({ ...BUCKET, [name]: '' });

  it('are read, with defaults for what R2 and Ceph need no word of', () => {
    for (const type of ['s3', 'r2']) {
      const config = readConfig({ ...BUCKET, STORAGE_TYPE: type });
      assert.equal(config.STORAGE_TYPE, type);
      assert.equal(config.S3_ENDPOINT, 'https://s3.example.org');
      assert.deepEqual([config.S3_REGION, config.S3_ADDRESSING, config.S3_CONCURRENCY], ['auto', 'path', 64]);
      assert.equal(config.S3_PUBLIC_URL, undefined);
    }
  });

  it('are told, each that is missing, and only for a bucket', () => {
    for (const name of ['S3_BUCKET', 'S3_ACCESS_KEY_ID', 'S3_SECRET_ACCESS_KEY', 'S3_ENDPOINT'] as const) {
      const [problem = '', ...others] = mistakesIn(without(name));
      assert.deepEqual(others, []);
      assert.ok(problem.startsWith(`${name} is needed`) && problem.includes(`Example: ${name}=`), problem);
      assert.deepEqual(mistakesIn({ ...without(name), STORAGE_TYPE: 'disk' }), []);
    }
    assert.equal(mistakesIn({ STORAGE_TYPE: 's3' }).length, 4);
  });

  it('need no address where the region is one of AWS, but for R2', () => {
    assert.deepEqual(mistakesIn({ ...without('S3_ENDPOINT'), S3_REGION: 'eu-central-1' }), []);
    assert.equal(mistakesIn({ ...without('S3_ENDPOINT'), S3_REGION: 'eu-central-1', STORAGE_TYPE: 'r2' }).length, 1);
  });

  it('are told without the password that somebody wrote into an address', () => {
    const [problem = ''] = mistakesIn({ ...BUCKET, S3_ENDPOINT: 'https://user:hunter2@s3.example.org' });
    assert.match(problem, /^S3_ENDPOINT must be a URL without user/);
    assert.doesNotMatch(problem, /hunter2/);
  });

  it('are refused where they are wrong, once each, and no secret is told', () => {
    const wrong = {
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
    for (const [name, texts] of Object.entries(wrong)) {
      for (const text of texts) {
        const [problem = '', ...others] = mistakesIn({ ...BUCKET, [name]: text });
        assert.deepEqual(others, []);
        assert.ok(problem.startsWith(`${name} must `), problem);
        if (name.includes('KEY')) assert.ok(!problem.includes(text), problem);
      }
    }
  });
});

describe('the settings of a repository', () => {
  const TOKEN = 'github_pat_11ABCDEFG0hunter2';
  const REPOSITORY = {
    STORAGE_TYPE: 'github',
    GITHUB_OWNER: 'octo-cat',
    GITHUB_REPO: 'my.files_2',
    GITHUB_TOKEN: TOKEN,
  };

  it('are read, with defaults that are right for GitHub', () => {
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

  it('are taken as they are, but for a / at the end of an address', () => {
    const right: readonly (readonly [SettingName, string, unknown?])[] = [
      ['GITHUB_OWNER', 'a'],
      ['GITHUB_OWNER', 'x'.repeat(39)],
      ['GITHUB_OWNER', 'somebody_corp'],
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
    for (const [name, text, value = text] of right) {
      assert.equal(readConfig({ ...REPOSITORY, [name]: text })[name], value, `${name}=${text}`);
    }
  });

  it('are told, each that is missing, and only for a repository', () => {
    for (const name of ['GITHUB_OWNER', 'GITHUB_REPO'] as const) {
      const [problem = '', ...others] = mistakesIn({ ...REPOSITORY, [name]: '' });
      assert.deepEqual(others, []);
      assert.ok(problem.startsWith(`${name} is needed for STORAGE_TYPE=github. Example: ${name}=`), problem);
    }
    assert.deepEqual(mistakesIn({ GITHUB_OWNER: '', GITHUB_REPO: '' }), []);
    assert.equal(mistakesIn({ STORAGE_TYPE: 'github' }).length, 3);
  });

  it('need a token to write, and none to read', () => {
    const without = { ...REPOSITORY, GITHUB_TOKEN: '' };
    const [problem = '', ...others] = mistakesIn(without);
    assert.deepEqual(others, []);
    assert.ok(problem.startsWith('GITHUB_TOKEN is needed for STORAGE_TYPE=github, unless READ_ONLY=true.'), problem);
    assert.equal(readConfig({ ...without, READ_ONLY: 'true' }).GITHUB_TOKEN, undefined);
  });

  it('have an author with a name and an address, or none', () => {
    const both = { GITHUB_AUTHOR_NAME: 'Jane Doe', GITHUB_AUTHOR_EMAIL: 'jane@example.org' };
    const { GITHUB_AUTHOR_NAME, GITHUB_AUTHOR_EMAIL } = readConfig({ ...REPOSITORY, ...both });
    assert.deepEqual({ GITHUB_AUTHOR_NAME, GITHUB_AUTHOR_EMAIL }, both);
    for (const name of ['GITHUB_AUTHOR_NAME', 'GITHUB_AUTHOR_EMAIL'] as const) {
      const [problem = '', ...others] = mistakesIn({ ...REPOSITORY, ...both, [name]: '' });
      assert.deepEqual(others, []);
      assert.ok(problem.startsWith(`${name} is needed too`) && problem.includes(`Example: ${name}=`), problem);
    }
    // A half that is wrong is told once, as what it is.
    const [problem = '', ...others] = mistakesIn({ ...REPOSITORY, ...both, GITHUB_AUTHOR_EMAIL: 'jane' });
    assert.deepEqual(others, []);
    assert.match(problem, /^GITHUB_AUTHOR_EMAIL must be an e-mail address/);
  });

  it('are served by one process, unless it is said how many', () => {
    assert.equal(readConfig(REPOSITORY).WORKERS, 1);
    assert.equal(readConfig({ ...REPOSITORY, WORKERS: '3' }).WORKERS, 3);
    assert.equal(readConfig({}).WORKERS, Number(SETTINGS.WORKERS.fallback));
  });

  it('are refused where they are wrong, once each, and no secret is told', () => {
    const wrong = {
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
      GITHUB_TRUST: ['-1', '3601', '2s', '0.5'],
      GITHUB_QUOTA_WAIT: ['-1', '3601', '10s'],
      GITHUB_WRITES_PER_MINUTE: ['-1', '100001', 'many'],
      GITHUB_CACHE_SIZE: ['none', '-1'],
    };
    for (const [name, texts] of Object.entries(wrong)) {
      for (const text of texts) {
        const [problem = '', ...others] = mistakesIn({ ...REPOSITORY, [name]: text });
        assert.deepEqual(others, [], `${name}=${text}`);
        assert.ok(problem.startsWith(`${name} must `), problem);
        assert.ok(!problem.includes(TOKEN), problem);
        if (name === 'GITHUB_TOKEN') assert.ok(!problem.includes(text), problem);
      }
    }
  });
});

describe('settings of access', () => {
  const FILE = { ACCESS_FILE: 'access.json' };

  it('let only this machine in where nothing else is said, and need a word before others can reach it', () => {
    for (const HOST of ['127.0.0.1', '127.1.2.3', 'localhost', '::1', 'LOCALHOST']) {
      assert.deepEqual(mistakesIn({ HOST }), [], HOST);
    }
    for (const HOST of [
      '0.0.0.0',
      '::',
      '192.168.0.2',
      'files.example.org',
      '127.example.org',
      'localhost.example.org',
    ]) {
      const [problem = '', ...others] = mistakesIn({ HOST });
      assert.deepEqual(others, []);
      assert.match(
        problem,
        /^ACCESS_FILE is needed, since HOST=.* is reached by others: .* or ACCESS=open, if everybody/,
      );
      assert.deepEqual(mistakesIn({ HOST, ACCESS: 'open' }), []);
      assert.deepEqual(mistakesIn({ HOST, ...FILE }), []);
    }
  });

  it('need a word on access where others are said to reach the service, which a proxy may lead to a loopback HOST', () => {
    const sets: readonly Record<string, string>[] = [
      { PUBLIC_URL: 'https://files.example.org' },
      { TRUST_PROXY: 'loopback' },
    ];
    for (const set of sets) {
      const [problem = '', ...others] = mistakesIn(set);
      assert.deepEqual(others, []);
      assert.match(problem, /^(PUBLIC_URL|TRUST_PROXY) is for a service that others reach: ACCESS_FILE is needed then/);
      assert.deepEqual(mistakesIn({ ...set, ...FILE }), []);
      assert.deepEqual(mistakesIn({ ...set, ACCESS: 'open' }), []);
    }
  });

  it('are refused where they contradict each other', () => {
    assert.deepEqual(mistakesIn({ ACCESS: 'open', ...FILE }), [
      'ACCESS=open and ACCESS_FILE contradict each other: take one of them away.',
    ]);
  });

  it('are told with what goes with them and is missing', () => {
    const firstWords = (environment: Record<string, string>) =>
      mistakesIn(environment).map((problem) => problem.split('. ')[0]);
    const OIDC_ISSUER = 'https://login.example.org';
    assert.deepEqual(firstWords({ OIDC_ISSUER }), [
      'OIDC_CLIENT_ID is needed for OIDC_ISSUER',
      'PUBLIC_URL is needed for OIDC_ISSUER',
      'ACCESS_FILE is needed for OIDC_ISSUER',
    ]);
    assert.deepEqual(firstWords({ OIDC_CLIENT_ID: 'a', OIDC_CLIENT_SECRET: 'b' }), [
      'OIDC_ISSUER is needed for OIDC_CLIENT_ID',
      'OIDC_ISSUER is needed for OIDC_CLIENT_SECRET',
    ]);
    assert.deepEqual(firstWords({ JWT_ISSUER: 'https://login.example.org' }), [
      'JWT_AUDIENCE is needed for JWT_ISSUER',
      'ACCESS_FILE is needed for JWT_ISSUER',
    ]);
    const PUBLIC_URL = 'https://files.example.org';
    assert.deepEqual(mistakesIn({ OIDC_ISSUER, OIDC_CLIENT_ID: 'holdall', PUBLIC_URL, ...FILE }), []);
  });

  it('take an issuer on https alone, but on this machine', () => {
    for (const JWT_ISSUER of ['https://a.example/realms/b', 'http://127.0.0.1:3000', 'http://localhost:3000/']) {
      assert.deepEqual(mistakesIn({ JWT_ISSUER, JWT_AUDIENCE: 'a', ...FILE }), []);
    }
    for (const JWT_ISSUER of ['http://a.example', 'http://localhost.example', 'ftp://a.example', 'a.example']) {
      assert.match(mistakesIn({ JWT_ISSUER, JWT_AUDIENCE: 'a', ...FILE }).join(), /^JWT_ISSUER must be a URL/);
    }
  });

  it('have contents on another host than the page, and on one that a policy can name', () => {
    const PUBLIC_URL = 'https://files.example.org/below';
    const CONTENT_ORIGIN = 'https://contents.example.org';
    assert.deepEqual(mistakesIn({ PUBLIC_URL, CONTENT_ORIGIN, ...FILE }), []);
    const [again = ''] = mistakesIn({ PUBLIC_URL, CONTENT_ORIGIN: 'https://FILES.example.org:8443/', ...FILE });
    assert.match(again, /^CONTENT_ORIGIN must be another host than that of PUBLIC_URL/);
    assert.match(
      mistakesIn({ CONTENT_ORIGIN: 'http://[::1]:8080' }).join(),
      /^CONTENT_ORIGIN must have the name of a host/,
    );
  });

  it('never show the address of a Redis, which has a password in it', () => {
    const [problem = ''] = mistakesIn({ REDIS_URL: 'http://default:hunter2@redis.example.org' });
    assert.match(problem, /^REDIS_URL must be a URL that begins with redis:\/\/ or rediss:\/\/\. Example: /);
  });
});

describe('the settings of traces', () => {
  it('are read as OpenTelemetry writes them', () => {
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

  it('are refused where they are wrong, once each, and no secret is told', () => {
    const wrong = {
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
    for (const [name, texts] of Object.entries(wrong)) {
      for (const text of texts) {
        const [problem = '', ...others] = mistakesIn({ [name]: text });
        assert.deepEqual(others, [], text);
        assert.ok(problem.startsWith(`${name} must `) && problem.includes(`Example: ${name}=`), `${text}: ${problem}`);
        assert.doesNotMatch(problem, /hunter2/);
      }
    }
  });
});
