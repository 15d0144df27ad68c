import assert from 'node:assert/strict';
import { chmod, mkdir, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { findServedFolder, readConfig } from '../../src/config/config.ts';
import { findMisspellings, withoutOverridden } from '../../src/config/environment.ts';
import { SETTINGS, type SettingName } from '../../src/config/settings.ts';
import { requirePrivatePaths } from '../../src/server/private-paths.ts';
import { type Setting, SettingsError } from '../../src/settings/setting.ts';
import { temporaryFolder } from '../../testing/holdall.ts';

const TOKEN = 'a-token-of-32-characters-or-more';

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

describe('A secret in a file', () => {
  it('is read for every secret setting, with either name of the variable', async (t) => {
    const path = join(await temporaryFolder(t), 'secret');
    const secrets = (Object.entries(SETTINGS) as [SettingName, Setting<unknown>][]).filter(
      ([, { isSecret }]) => isSecret,
    );
    assert.ok(secrets.length >= 9);
    for (const [name, { example, read }] of secrets) {
      await writeFile(path, `${example}\n`);
      const reading = read(example);
      // The example of SIGNING_KEY is a command.
      const expected = 'value' in reading ? reading.value : undefined;
      for (const prefix of ['', 'HOLDALL_']) {
        const problems = problemsIn({ [`${prefix}${name}_FILE`]: path });
        assert.deepEqual(
          problems.filter((problem) => problem.includes('_FILE')),
          [],
        );
        if (problems.length > 0) continue;
        const config = readConfig({ [`${prefix}${name}_FILE`]: path });
        assert.deepEqual(config[name], expected, name);
        assert.deepEqual(config.secretFiles, [{ variable: `${prefix}${name}_FILE`, path }]);
      }
    }
  });

  it('loses one trailing line break and a byte order mark, and nothing else', async (t) => {
    const path = join(await temporaryFolder(t), 'secret');
    for (const [content, secret] of [
      [TOKEN, TOKEN],
      [`${TOKEN}\n`, TOKEN],
      [`${TOKEN}\r\n`, TOKEN],
      [`\uFEFF${TOKEN}\n`, TOKEN],
      [`${TOKEN}\n\n`, `${TOKEN}\n`],
      [` ${TOKEN} é`, ` ${TOKEN} é`],
    ] as const) {
      await writeFile(path, content);
      assert.equal(String(readConfig({ SIGNING_KEY_FILE: path }).SIGNING_KEY), secret);
    }
  });

  it('is an error if the file is missing, empty, binary, too large or no file', async (t) => {
    const folder = await temporaryFolder(t);
    const contents: Record<string, string | Buffer> = {
      empty: '',
      blank: '\n',
      binary: Buffer.from([0x61, 0xff, 0xfe]),
      large: 'x'.repeat(64 * 1024 + 1),
    };
    for (const [name, content] of Object.entries(contents)) await writeFile(join(folder, name), content);
    await mkdir(join(folder, 'folder'));
    await symlink('missing', join(folder, 'link'));
    for (const [name, reason] of [
      ['empty', / is empty\.$/],
      ['blank', / is empty\.$/],
      ['binary', / is not UTF-8 text\.$/],
      ['large', / is larger than 64 KiB\.$/],
      ['folder', / is not a regular file\.$/],
      ['missing', / can't be read \(ENOENT\)\. Check its path and its permissions\.$/],
      ['link', / can't be read \(ENOENT\)\./],
    ] as const) {
      const [problem = '', ...others] = problemsIn({ METRICS_TOKEN_FILE: join(folder, name) });
      assert.deepEqual(others, []);
      assert.ok(problem.startsWith(`METRICS_TOKEN_FILE: the file "${join(folder, name)}"`), problem);
      assert.match(problem, reason);
    }
  });

  it('is reported without its content', async (t) => {
    const path = join(await temporaryFolder(t), 'secret');
    await writeFile(path, 'hunter2\n');
    const [problem = ''] = problemsIn({ METRICS_TOKEN_FILE: path });
    assert.match(problem, /^METRICS_TOKEN must have at least 16 bytes, not 7\./);
    assert.doesNotMatch(problem, /hunter2/);
  });

  it('rejects a token with spaces or line breaks, which no client can send', async (t) => {
    const path = join(await temporaryFolder(t), 'token');
    for (const text of [`${TOKEN}\n\n`, `${TOKEN} ${TOKEN}`]) {
      await writeFile(path, text);
      assert.match(problemsIn({ METRICS_TOKEN_FILE: path }).join('\n'), /^METRICS_TOKEN must contain only ASCII/);
    }
  });

  it('excludes the variable with the secret itself', async (t) => {
    const path = join(await temporaryFolder(t), 'secret');
    await writeFile(path, TOKEN);
    assert.deepEqual(problemsIn({ METRICS_TOKEN: TOKEN, METRICS_TOKEN_FILE: path }), [
      'METRICS_TOKEN and METRICS_TOKEN_FILE are both set. Remove one of them.',
    ]);
    assert.deepEqual(problemsIn({ HOLDALL_METRICS_TOKEN: TOKEN, HOLDALL_METRICS_TOKEN_FILE: path }), [
      'HOLDALL_METRICS_TOKEN and HOLDALL_METRICS_TOKEN_FILE are both set. Remove one of them.',
    ]);
    assert.deepEqual(problemsIn({ METRICS_TOKEN: '', METRICS_TOKEN_FILE: path }), []);
  });

  it('is rejected inside the served folder', async (t) => {
    const folder = await temporaryFolder(t);
    const path = join(folder, 'secret');
    await writeFile(path, TOKEN);
    await chmod(path, 0o600);
    const config = readConfig({ DISK_ROOT: folder, METRICS_TOKEN_FILE: path });
    await assert.rejects(
      requirePrivatePaths(config),
      /METRICS_TOKEN_FILE .* is inside DISK_ROOT, where users could read/,
    );
    await requirePrivatePaths(readConfig({ DISK_ROOT: join(folder, 'files'), METRICS_TOKEN_FILE: path }));
  });
});

describe('The prefix HOLDALL_', () => {
  it('is accepted for every setting', () => {
    for (const [name, { read, example }] of Object.entries(SETTINGS) as [SettingName, Setting<unknown>][]) {
      const [plain, prefixed] = [{ [name]: example }, { [`HOLDALL_${name}`]: example }];
      assert.deepEqual(problemsIn(prefixed), problemsIn(plain));
      if ('value' in read(example) && problemsIn(plain).length === 0) {
        assert.deepEqual(readConfig(prefixed), readConfig(plain), name);
      }
    }
  });

  it('is an error beside the same setting with another value', () => {
    assert.deepEqual(problemsIn({ PORT: '1', HOLDALL_PORT: '2' }), [
      'PORT and HOLDALL_PORT have different values. Remove one of them.',
    ]);
    assert.equal(readConfig({ PORT: '1', HOLDALL_PORT: '1' }).PORT, 1);
    assert.equal(readConfig({ PORT: '', HOLDALL_PORT: '2' }).PORT, 2);
    assert.equal(readConfig({ PORT: '1', HOLDALL_PORT: '' }).PORT, 1);
  });

  it('ignores HOLDALL_PORT of a Kubernetes Service', () => {
    const HOLDALL_PORT = 'tcp://10.0.0.1:8080';
    assert.equal(readConfig({ HOLDALL_PORT }).PORT, 8080);
    assert.equal(readConfig({ HOLDALL_PORT, PORT: '9000' }).PORT, 9000);
    assert.deepEqual(withoutOverridden({ PORT: '9000' }, { HOLDALL_PORT }), { PORT: '9000' });
  });

  it('names the served folder before the settings are read', () => {
    assert.deepEqual(findServedFolder({ HOLDALL_DISK_ROOT: '/a' }, { DISK_ROOT: '/b' }), {
      setting: 'DISK_ROOT',
      path: '/a',
    });
    assert.deepEqual(findServedFolder({}, { HOLDALL_DISK_ROOT: '/b' }), { setting: 'DISK_ROOT', path: '/b' });
    assert.equal(findServedFolder({ HOLDALL_STORAGE_TYPE: 's3' }, { DISK_ROOT: '/b' }), undefined);
  });
});

describe('A setting of an environment file', () => {
  it('is overridden by the environment under each of its names', () => {
    const file = { PORT: '1', HOLDALL_HOST: '::1', METRICS_TOKEN: TOKEN, READ_ONLY: 'true' };
    assert.deepEqual(withoutOverridden(file, { HOLDALL_PORT: '2', HOST: '', METRICS_TOKEN_FILE: '/run/token' }), {
      READ_ONLY: 'true',
    });
    assert.deepEqual(withoutOverridden(file, { PATH: '/bin' }), file);
  });
});

describe('A variable that resembles a setting', () => {
  it('produces a warning with the setting', () => {
    for (const [variable, setting] of [
      ['S3_BUCKT', 'S3_BUCKET'],
      ['S3_BUKCET', 'S3_BUCKET'],
      ['PUBLIC_URI', 'PUBLIC_URL'],
      ['ACCESSFILE', 'ACCESS_FILE'],
      ['read_only', 'READ_ONLY'],
      ['METRICS_TOKEN_FILES', 'METRICS_TOKEN_FILE'],
      ['HOLDALL_PROT', 'HOLDALL_PORT'],
      ['holdall_host', 'HOLDALL_HOST'],
    ]) {
      assert.deepEqual(findMisspellings({ [String(variable)]: 'x' }), [
        `Unknown environment variable ${variable}. Did you mean ${setting}? See holdall help settings.`,
      ]);
    }
  });

  it('produces no warning if it is a setting or belongs to another program', () => {
    const foreign = [
      'PATH HOME HOSTNAME PORTS POST host LANG USER PWD',
      'TERM NODE_ENV TMPDIR HOLDALL_TOKEN HOLDALL_PORT_8080_TCP HOLDALL_SERVICE_HOST HOLDALL_SERVICE_PORT GITHUB_REF GITHUB_ACTOR',
      'GITHUB_REPOSITORY AWS_REGION S3_KEY OTEL_LOGS_EXPORTER OTEL_METRICS_EXPORTER http_proxy DATABASE_URL XDG_CACHE_HOME JOURNAL_STREAM',
      'INVOCATION_ID MAX_CONN __proto__',
    ].flatMap((line) => line.split(' '));
    assert.deepEqual(findMisspellings(Object.fromEntries(foreign.map((name) => [name, 'x']))), []);
    const settings = Object.keys(SETTINGS).flatMap((name) => [name, `HOLDALL_${name}`]);
    assert.deepEqual(findMisspellings(Object.fromEntries(settings.map((name) => [name, 'x']))), []);
  });
});
