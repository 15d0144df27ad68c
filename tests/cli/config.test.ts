import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { SETTINGS } from '../../src/config/settings.ts';
import { runCli } from '../../testing/cli.ts';

describe('holdall config check', () => {
  it('reports every mistake, and exits with 78', async () => {
    const environment = { PORT: 'x', STORAGE_TYPE: 's3', HOLDALL_LOG_LEVL: 'info' };
    const { code, stdout, stderr } = await runCli(['config', 'check'], { environment });
    assert.deepEqual([code, stdout], [78, '']);
    assert.match(stderr, /PORT must be a whole number from 0 to 65535, not "x"/);
    assert.match(stderr, /S3_BUCKET is required/);
    assert.match(stderr, /Unknown environment variable HOLDALL_LOG_LEVL\. Did you mean HOLDALL_LOG_LEVEL\?/);
    const json = await runCli(['config', 'check', '--json'], { environment });
    const report = JSON.parse(json.stdout) as { valid: boolean; problems: string[]; warnings: string[] };
    assert.deepEqual([json.code, json.stderr, report.valid, report.warnings.length], [78, '', false, 1]);
    assert.ok(report.problems.some((problem) => problem.startsWith('PORT must be')));
  });

  it('accepts valid settings', async () => {
    assert.deepEqual(await runCli(['config', 'check']), { code: 0, stdout: 'The settings are valid.\n', stderr: '' });
    assert.deepEqual(JSON.parse((await runCli(['config', 'check', '--json'])).stdout), { valid: true, warnings: [] });
  });
});

describe('holdall config print', () => {
  const environment = {
    STORAGE_TYPE: 's3',
    HOLDALL_PORT: '9000',
    S3_SECRET_ACCESS_KEY: 'hunter2',
    METRICS_TOKEN_FILE: '/run/secrets/hunter2',
    S3_BUCKET: 'a\u001b[31m',
    PUBLIC_URL: 'https://user:hunter2@files.example',
    OIDC_ISSUER: 'https://login.example?token=hunter2',
    GITHUB_AUTHOR_EMAIL: 'ann@example.org',
  };

  it('prints each setting with its value, source and default, and no secret', async () => {
    const { stdout } = await runCli(['config', 'print', '--json'], { environment });
    assert.doesNotMatch(stdout, /hunter2/);
    const settings = JSON.parse(stdout) as { name: string }[];
    assert.deepEqual(
      settings.map(({ name }) => name),
      Object.keys(SETTINGS),
    );
    const find = (name: string) => settings.find((each) => each.name === name);
    assert.deepEqual(find('PORT'), {
      name: 'PORT',
      isSecret: false,
      default: '8080',
      value: '9000',
      source: 'environment',
      variable: 'HOLDALL_PORT',
    });
    assert.deepEqual(find('METRICS_TOKEN'), {
      name: 'METRICS_TOKEN',
      isSecret: true,
      default: null,
      value: null,
      source: 'environment',
      variable: 'METRICS_TOKEN_FILE',
    });
  });

  it('prints a table without secrets and control characters', async () => {
    const { code, stdout } = await runCli(['config', 'print'], { environment });
    assert.equal(code, 0);
    assert.doesNotMatch(stdout, /hunter2|\u001b/);
    assert.match(stdout, /^PORT +9000 +environment as HOLDALL_PORT$/m);
    assert.match(stdout, /^S3_SECRET_ACCESS_KEY +\(secret\) +environment$/m);
    assert.match(stdout, /^PUBLIC_URL +\(secret\) +environment$/m);
    assert.match(stdout, /^GITHUB_AUTHOR_EMAIL +ann@example\.org +environment$/m);
    assert.match(stdout, /^HOST +127\.0\.0\.1 +default$/m);
  });
});
