import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { AppTokens } from '../../src/app-tokens/app-tokens.ts';
import { Database } from '../../src/database/database.ts';
import { openEngine } from '../../src/database/open.ts';
import { runCli } from '../../testing/cli.ts';

const ACCESS = {
  people: { ann: { groups: ['family'] }, bo: {} },
  grants: [{ folder: '/', to: { group: 'family' }, rights: ['read'] }],
};

describe('holdall app-token', () => {
  let folder: string;
  let access: string;
  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'holdall-cli-app-tokens-'));
    access = join(folder, 'access.json');
    await writeFile(access, JSON.stringify(ACCESS));
    assert.equal((await runCli(['database', 'migrate'], { environment: { STATE_DIR: folder } })).code, 0);
  });
  after(() => rm(folder, { recursive: true, force: true }));

  const run = (args: readonly string[], environment: Readonly<Record<string, string>> = { ACCESS_FILE: access }) =>
    runCli(['app-token', ...args], { environment: { STATE_DIR: folder, ...environment } });
  const runJson = async <Result = Record<string, unknown>>(args: readonly string[]) => {
    const { code, stdout, stderr } = await run([...args, '--json']);
    assert.deepEqual([code, stderr], [0, '']);
    return JSON.parse(stdout) as Result;
  };

  /** Returns the token with a secret, as the service finds it. */
  async function findBySecret(secret: string) {
    const database = new Database(await openEngine({ url: undefined, stateFolder: folder }));
    await database.start();
    try {
      return await new AppTokens(database).findBySecret(secret);
    } finally {
      await database.close();
    }
  }

  it('creates, lists and revokes a token, and prints it once', async () => {
    const created = await run(['new', 'ann', '--name', 'Phone', '--folder', 'photos', '--permissions', 'write,read']);
    assert.equal(created.code, 0, created.stderr);
    const [, id = assert.fail(created.stderr)] =
      /^Created the app token (\S+) of "ann" for "\/photos\/"\.\n/.exec(created.stderr) ?? [];
    const secret = created.stdout.trim();
    assert.partialDeepStrictEqual(await findBySecret(secret), {
      id,
      name: 'Phone',
      folder: 'photos/',
      permissions: ['read', 'write'],
      owner: { name: 'ann', groups: [], hasEntry: true },
    });
    const { stdout: listed } = await run(['list', 'ann']);
    const [head = '', row = ''] = listed.split('\n');
    assert.match(head, /^ID +USER +NAME +FOLDER +PERMISSIONS +LAST USED +EXPIRES +STATE$/);
    assert.deepEqual(row.split(/ {2,}/), [id, 'ann', 'Phone', '/photos/', 'read,write', 'never', 'never', 'active']);
    assert.ok(!listed.includes(secret));
    assert.equal((await run(['revoke', id])).stdout, `Revoked the app token ${id}.\n`);
    assert.equal(await findBySecret(secret), undefined);
    assert.match((await run(['revoke', id])).stderr, /does not exist/);
  });

  it('revokes all tokens of a user, also after the removal of the user', async () => {
    const [first, second] = [await runJson(['new', 'bo']), await runJson(['new', 'bo', '--expires', '2999-12-31'])];
    assert.deepEqual(first['permissions'], ['read', 'write', 'manage']);
    assert.equal(second['expiresAt'], '2999-12-31T00:00:00.000Z');
    await runJson(['new', 'ann']);
    await writeFile(access, JSON.stringify({ ...ACCESS, people: { ann: {} } }));
    const states = await runJson<Record<string, unknown>[]>(['list', 'bo']);
    assert.deepEqual(
      states.map(({ active, inactiveReason }) => [active, inactiveReason]),
      [
        [false, 'owner'],
        [false, 'owner'],
      ],
    );
    const { revoked } = await runJson(['revoke', '--user', 'bo']);
    assert.deepEqual(new Set(revoked as string[]), new Set([first['id'], second['id']]));
    await writeFile(access, JSON.stringify(ACCESS));
    assert.equal((await runJson<unknown[]>(['list'])).length, 1);
  });

  it('rejects arguments that are not valid', async () => {
    for (const [args, reason] of [
      [['new', 'eve'], /has no user "eve"/],
      [['new', 'ann', '--folder', ''], /The folder is empty/],
      [['new', 'ann', '--folder', 'a/../b'], /\.\./],
      [['new', 'ann', '--permissions', 'read,fly'], /The permissions must be/],
      [['new', 'ann', '--permissions', 'none'], /without permissions/],
      [['new', 'ann', '--expires', '2001-01-01'], /must be in the future/],
      [['new', 'ann', '--name', 'a\nb'], /no control characters/],
      [['revoke'], /Pass either/],
      [['revoke', 'x', '--user', 'ann'], /Pass either/],
    ] as const) {
      const { code, stderr } = await run([...args]);
      assert.ok(code === 1 || code === 2, `${args.join(' ')}: ${code}`);
      assert.match(stderr, reason);
    }
    assert.match((await run(['new', 'ann'], {})).stderr, /ACCESS_FILE is not set/);
  });
});
