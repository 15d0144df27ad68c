import assert from 'node:assert/strict';
import { chmod, mkdir, readdir, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import type { Finding } from '../../src/checks/check.ts';
import { readConfig } from '../../src/config/config.ts';
import { describePrograms, SETTINGS_CHECKS } from '../../src/doctor/settings.ts';
import { FULL_PROTECTION } from '../../src/thumbnails/sandbox.ts';
import { temporaryFolder } from '../../testing/holdall.ts';

/** Runs one check as the doctor does. Returns undefined if it does not concern the settings. */
async function check(name: string, settings: Readonly<Record<string, string>>): Promise<Finding | undefined> {
  const config = readConfig({ DISK_ROOT: '/srv/files', ...settings });
  const found = SETTINGS_CHECKS.find((each) => each.name === name);
  assert.ok(found, `There is a check ${name}.`);
  if (found.concerns?.(config) === false) return undefined;
  try {
    return await found.run(config, new AbortController().signal);
  } catch (error) {
    return { status: 'failed', found: String(error), advice: found.explain(error, config) };
  }
}

async function accessFile(t: Parameters<typeof temporaryFolder>[0], text: string): Promise<string> {
  const path = join(await temporaryFolder(t), 'access.json');
  await writeFile(path, text, { mode: 0o600 });
  return path;
}

const GRANT = '{"grants": [{"folder": "/", "to": "everyone", "rights": ["read"]}]}';

describe('The checks of the settings', () => {
  it('report who can access the service', async (t) => {
    assert.equal((await check('access', {}))?.status, 'ok');
    assert.equal((await check('access', { ACCESS: 'open' }))?.status, 'ok');
    assert.match((await check('access', { ACCESS: 'open', HOST: '0.0.0.0' }))?.advice ?? '', /ACCESS_FILE/);
    assert.match((await check('access', { ACCESS_FILE: await accessFile(t, GRANT) }))?.found ?? '', /grants: 1/);
  });

  it('report the database, without creating or changing it', async (t) => {
    const STATE_DIR = await temporaryFolder(t);
    const file = join(STATE_DIR, 'holdall.sqlite');
    assert.deepEqual(await check('database', { STATE_DIR }), {
      status: 'ok',
      found: `The database ${file} is created at the start.`,
    });
    assert.deepEqual(await readdir(STATE_DIR), []);
    const shared = await check('database', { STATE_DIR, REDIS_URL: 'redis://127.0.0.1:1' });
    assert.match(shared?.advice ?? '', /^Set DATABASE_URL /);
    await writeFile(file, 'damaged'.repeat(1000));
    const damaged = await check('database', { STATE_DIR });
    assert.equal(damaged?.status, 'failed');
    assert.match(damaged.found, /is not a SQLite database/);
    const lost = await check('database', { DATABASE_URL: 'postgres://ann:hunter2hunter2@127.0.0.1:1/files' });
    assert.equal(lost?.status, 'failed');
    assert.match(lost.found, /^DatabaseFault: The PostgreSQL server 127\.0\.0\.1:1\/files can't be reached/);
  });

  it('report an access file that is unreadable, or not valid', async (t) => {
    const folder = await temporaryFolder(t);
    const missing = await check('access', { ACCESS_FILE: join(folder, 'missing') });
    assert.match(missing?.advice ?? '', /holdall access check/);
    for (const text of [
      '',
      '{',
      '{"grants": [1,]}',
      '/* x */ {}',
      '{"a": "\u0001"}',
      '{"a": \\x}',
      '"a',
      '[1 2]',
      '{"a" 1}',
    ]) {
      const finding = await check('access', { ACCESS_FILE: await accessFile(t, text) });
      assert.equal(finding?.status, 'failed', JSON.stringify(text));
      assert.match(finding.found, /line 1, column \d+/);
    }
    const nested = await check('access', { ACCESS_FILE: await accessFile(t, '['.repeat(100_000)) });
    assert.match(nested?.found ?? '', /nested too deeply|is not JSON/);
    await symlink(folder, join(folder, 'link'));
    assert.match((await check('access', { ACCESS_FILE: join(folder, 'link') }))?.found ?? '', /not a regular file/);
  });

  it('report a file with secrets that every user of the machine can read', async (t) => {
    const path = await accessFile(t, GRANT);
    assert.equal((await check('secret-files', { ACCESS_FILE: path }))?.status, 'ok');
    await chmod(path, 0o644);
    assert.equal((await check('secret-files', { ACCESS_FILE: path }))?.advice, `chmod o-rwx ${path}`);
    assert.equal((await check('secret-files', { ACCESS_FILE: `${path}-missing` }))?.status, 'ok');
    const secret = join(await temporaryFolder(t), 'token');
    await writeFile(secret, 'a-token-of-32-characters-or-more', { mode: 0o644 });
    assert.equal((await check('secret-files', { METRICS_TOKEN_FILE: secret }))?.advice, `chmod o-rwx ${secret}`);
  });

  it('report how other machines reach the service', async () => {
    const open = { ACCESS: 'open', HOST: '0.0.0.0' };
    assert.equal(await check('public-address', {}), undefined);
    assert.match((await check('public-address', open))?.advice ?? '', /Set PUBLIC_URL/);
    const http = await check('public-address', { ...open, PUBLIC_URL: 'http://files.example.org' });
    assert.match(http?.found ?? '', /has no HTTPS/);
    const https = { ...open, PUBLIC_URL: 'https://files.example.org' };
    assert.match((await check('public-address', https))?.advice ?? '', /TRUST_PROXY/);
    assert.equal((await check('public-address', { ...https, TRUST_PROXY: 'loopback' }))?.status, 'ok');
    assert.equal((await check('public-address', { ACCESS: 'open', PUBLIC_URL: 'http://localhost' }))?.status, 'ok');
  });

  it('report folders of the service that are not writable', async (t) => {
    const folder = await temporaryFolder(t);
    await mkdir(join(folder, 'state'));
    assert.equal((await check('own-folders', { STATE_DIR: join(folder, 'state', 'new') }))?.status, 'ok');
    await writeFile(join(folder, 'file'), '');
    for (const name of ['STATE_DIR', 'CACHE_DIR'] as const) {
      const finding = await check('own-folders', { [name]: join(folder, 'file', 'below') });
      assert.notEqual(finding?.status, 'ok', name);
      assert.match(finding?.advice ?? '', new RegExp(name));
    }
    const log = await check('own-folders', { AUDIT_LOG: join(folder, 'audit.log') });
    assert.equal(log?.status, 'ok');
  });

  it('report a limit of open files that MAX_CONNECTIONS exceeds', async () => {
    const few = await check('open-files', { MAX_CONNECTIONS: '10' });
    const many = await check('open-files', { MAX_CONNECTIONS: '1000000' });
    if (process.platform === 'linux') assert.notDeepEqual(few, many);
    else assert.deepEqual([few, many], [undefined, undefined]);
  });

  it('report what draws videos and PDFs, and why nothing does', () => {
    const all = describePrograms({ kinds: ['video', 'pdf', 'heic'], missing: [] });
    assert.deepEqual([all.status, all.found], ['ok', 'Videos, PDFs and HEIC images have thumbnails.']);
    const some = describePrograms({ kinds: ['pdf'], missing: ['ffmpeg'] });
    assert.deepEqual([some.status, some.found], ['ok', 'PDFs have thumbnails. Not installed in /usr/bin: ffmpeg.']);
    const none = describePrograms({ kinds: [], missing: ['bwrap', 'ffmpeg', 'pdftoppm'] });
    assert.equal(none.status, 'ok');
    assert.match(none.found, /^Neither videos nor PDFs nor HEIC images .*bwrap, ffmpeg, pdftoppm\.$/);
    const forbidden = describePrograms({ kinds: [], missing: [], sandboxError: 'bwrap: No permissions' });
    assert.equal(forbidden.status, 'warning');
    assert.match(forbidden.found, /sandbox does not start: bwrap: No permissions/);
    assert.match(forbidden.advice ?? '', /THUMBNAIL_PROGRAMS=false/);
    const plugin = describePrograms({ kinds: ['pdf'], missing: [], lacksHevc: true, protection: FULL_PROTECTION });
    assert.equal(plugin.status, 'warning');
    assert.match(plugin.advice ?? '', /libheif-plugin-libde265/);
    const drawing = { kinds: ['pdf'], missing: [] } as const;
    const full = describePrograms({ ...drawing, protection: FULL_PROTECTION });
    assert.deepEqual([full.status, full.found], ['ok', 'PDFs have thumbnails.']);
    const older = describePrograms({ ...drawing, protection: { ...FULL_PROTECTION, forbidsNamespaces: false } });
    assert.deepEqual([older.status, older.found.includes('before 0.8')], ['ok', true]);
    const weak = describePrograms({ ...drawing, protection: { ...FULL_PROTECTION, filtersCalls: false } });
    assert.deepEqual([weak.status, weak.found.includes('does not filter system calls')], ['warning', true]);
  });

  it('report files of the service inside the served folder', async (t) => {
    const root = await temporaryFolder(t);
    await writeFile(join(root, 'access.json'), GRANT, { mode: 0o600 });
    const inside = await check('private-paths', { DISK_ROOT: root, ACCESS_FILE: join(root, 'access.json') });
    assert.equal(inside?.status, 'failed');
    assert.match(inside.advice ?? '', /DISK_ROOT/);
    assert.equal((await check('private-paths', { DISK_ROOT: root }))?.status, 'ok');
  });
});
