import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { verifyPassword } from '../../src/access/credentials.ts';
import { OPEN_POLICY } from '../../src/access/policy.ts';
import { Database } from '../../src/database/database.ts';
import { openEngine } from '../../src/database/open.ts';
import { Links } from '../../src/links/links.ts';
import { runCli } from '../../testing/cli.ts';

const ACCESS = {
  people: { ann: { groups: ['family'] }, bo: {} },
  grants: [{ folder: '/photos/', to: { group: 'family' }, rights: ['read', 'write'] }],
};

describe('holdall link', () => {
  let folder: string;
  let access: string;
  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'holdall-cli-links-'));
    access = join(folder, 'access.json');
    await writeFile(access, JSON.stringify(ACCESS));
    assert.match((await run(['list'])).stderr, /does not exist yet\. Start the service/);
    assert.equal((await runCli(['database', 'migrate'], { environment: { STATE_DIR: folder } })).code, 0);
  });
  after(() => rm(folder, { recursive: true, force: true }));

  const run = (args: readonly string[], environment: Readonly<Record<string, string>> = {}, input = '') =>
    runCli(['link', ...args], { environment: { STATE_DIR: folder, ...environment }, input });
  /** Runs a command for a service with the access file, and returns what it prints. */
  const runJson = async <Result = Record<string, unknown>>(args: readonly string[], input?: string) => {
    const { code, stdout, stderr } = await run([...args, '--json'], { ACCESS_FILE: access }, input);
    assert.deepEqual([code, stderr], [0, '']);
    return JSON.parse(stdout) as Result;
  };
  const list = (...args: string[]) => runJson<Record<string, unknown>[]>(['list', ...args]);

  /** Returns the link of a token, as the service finds it. */
  async function findByToken(token: string) {
    const engine = await openEngine({ url: undefined, stateFolder: folder });
    const database = new Database(engine, { onChange: () => {} });
    await database.start();
    try {
      return await new Links(database, () => OPEN_POLICY).findByToken(token);
    } finally {
      await database.close();
    }
  }

  it('creates, lists and revokes a link, and prints its URL once', async () => {
    const environment = { PUBLIC_URL: 'https://files.example.org/drive', ACCESS: 'open' };
    const { code, stdout, stderr } = await run(['create', 'notes/'], environment);
    assert.equal(code, 0, stderr);
    const [, id = assert.fail(stderr)] =
      /^Created the link (\S+) to the folder "\/notes\/"\. Its URL is shown only once:\n$/.exec(stderr) ?? [];
    const [, token = assert.fail(stdout)] =
      /^https:\/\/files\.example\.org\/drive\/-\/s\/([\w-]{32})\/\n$/.exec(stdout) ?? [];
    assert.partialDeepStrictEqual(await findByToken(token), { id, path: 'notes/', permissions: ['read'] });
    const listed = (await run(['list'])).stdout;
    const [head = '', row = ''] = listed.split('\n');
    assert.match(head, /^ID +PATH +PERMISSIONS +CREATOR +EXPIRES +DOWNLOADS +UPLOADS +STATE +LABEL$/);
    assert.deepEqual(row.split(/ {2,}/), [id, '/notes/', 'read', 'never', '0', '0', 'active']);
    assert.ok(!listed.includes(token));
    assert.equal((await run(['revoke', id])).stdout, `Revoked the link ${id}.\n`);
    assert.equal(await findByToken(token), undefined);
    assert.deepEqual(await list(), []);
  });

  it('creates a link with all settings for a user of the access file', async () => {
    const settings = ['--permissions', 'write, read', '--label', ' Holidays ', '--expires', '2999-12-31'];
    const limits = ['--max-downloads', '3', '--max-uploads', '4', '--max-upload-bytes', '50MB', '--ask-sender'];
    const args = ['create', '/photos/', '--as', 'ann', ...settings, ...limits, '--password'];
    const { id, token, url, createdAt, ...link } = await runJson(args, 'correct horse\n');
    assert.equal(url, `http://127.0.0.1:8080/-/s/${String(token)}/`);
    assert.deepEqual(link, {
      path: 'photos/',
      type: 'folder',
      permissions: ['read', 'write'],
      label: 'Holidays',
      creator: 'ann',
      expiresAt: '2999-12-31T00:00:00.000Z',
      hasPassword: true,
      maxDownloads: 3,
      downloads: 0,
      maxUploads: 4,
      uploads: 0,
      maxUploadBytes: 50_000_000,
      askSender: true,
      active: true,
    });
    const found = await findByToken(String(token));
    assert.deepEqual(found?.creator, { name: 'ann', groups: [], hasEntry: true });
    assert.equal(await verifyPassword('correct horse', found?.passwordHash), true);
    assert.deepEqual(await list(), [{ id, createdAt, ...link }]);
    assert.deepEqual(await list('--below', 'photos'), await list());
    assert.deepEqual(await list('--below', 'photo'), []);
    await writeFile(access, JSON.stringify({ ...ACCESS, people: { bo: {} } }));
    const [inactive] = await list();
    await writeFile(access, JSON.stringify(ACCESS));
    assert.partialDeepStrictEqual(inactive, { active: false, inactiveReason: 'permission' });
    assert.deepEqual(await runJson(['revoke', String(id)]), { id, revoked: true });
  });

  it('reports invalid options, missing permissions and unknown IDs in one line, and creates nothing', async () => {
    for (const [args, error, file] of [
      [['create', 'photos/'], /^holdall: The link needs a creator.* Pass --as USER/, access],
      [['create', 'photos/', '--as', 'eve'], /^holdall: .*access\.json has no user "eve"\./, access],
      [
        ['create', 'photos/', '--as', 'bo'],
        /^holdall: "bo" doesn't have the permission "read" for "\/photos\/"\./,
        access,
      ],
      [['create', '/', '--as', 'ann'], /"ann" doesn't have the permission "read" for "\/"\./, access],
      [['create', 'a/', '--as', 'ann'], /^holdall: --as has no effect, because ACCESS_FILE is not set\./],
      [['create', 'a//b'], /^holdall: .*empty segment/],
      [['create', ''], /^holdall: The path is empty\. Pass "\/" to share all files\./],
      [['create', 'a.txt', '--permissions', 'write'], /^holdall: A link to a file can only have the permission "read"/],
      [['create', 'a/', '--permissions', 'manage'], /^holdall: --permissions must be read, write or read,write/],
      [['create', 'a/', '--permissions', ''], /^holdall: --permissions must be/],
      [
        ['create', 'a/', '--max-uploads', '3'],
        /^holdall: --max-uploads has no effect without the permission "write"\./,
      ],
      [['create', 'a/', '--ask-sender'], /^holdall: --ask-sender has no effect/],
      [['create', 'a/', '--max-downloads', '0'], /^holdall: .*"0".*must be a whole number/],
      [['create', 'a/', '--max-upload-bytes', 'big'], /^holdall: .*"big".*must be a number of bytes/],
      [['create', 'a/', '--expires', '2020-01-01'], /^holdall: --expires must be in the future\./],
      [['create', 'a/', '--label', 'a\nb'], /^holdall: The label .* must be one line/],
      [['create', 'a/', '--password'], /^holdall: The password is empty\./],
      [['list', '--below', 'a//b'], /^holdall: .*empty segment/],
      [['revoke', '0'], /^holdall: The link "0" does not exist\.\n$/],
    ] as const) {
      const { code, stdout, stderr } = await run(args, file === undefined ? {} : { ACCESS_FILE: file });
      assert.ok(code > 0 && stdout === '', args.join(' '));
      assert.match(stderr, error);
    }
    assert.deepEqual(await list(), []);
  });
});
