import assert from 'node:assert/strict';
import { lstat, readdir, readFile, stat, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { parseAccessFile } from '../../src/access/access-file.ts';
import { hashToken, verifyPassword } from '../../src/access/credentials.ts';
import { type Printed, runCli } from '../../testing/cli.ts';
import { temporaryFolder } from '../../testing/holdall.ts';

const PASSWORD = 'correct horse';

const FILE = `{
\t"people": {
\t\t"ann": { "password": "scrypt:N=32768,r=8,p=3:CCBziDrkySIk3hVODz3PDg:KoyW3SCg71cvPYOl-1s83jU0LFFmR7hejC_srMwm8iw", "groups": ["family"] },
\t\t"bo": {}
\t},
\t"grants": [
\t\t{ "folder": "/", "to": { "person": "ann" }, "rights": ["read", "write", "manage"] },
\t\t{ "folder": "/b/", "to": { "person": "bo" }, "rights": ["read"] },
\t\t{ "folder": "/c/", "to": { "person": "bo" }, "rights": ["read"] },
\t\t{ "folder": "/d/", "to": "everyone", "rights": ["read"] }
\t]
}
`;

/** An access file, and a function that runs a command on it. */
async function open(t: TestContext, text: string | undefined = FILE) {
  const folder = await temporaryFolder(t);
  const file = join(folder, 'access.json');
  if (text !== '') await writeFile(file, text, { mode: 0o640 });
  const run = (...args: string[]) => runCli(args, { environment: { HOLDALL_ACCESS_FILE: file }, input: PASSWORD });
  return { folder, file, run, read: async () => parseAccessFile(await readFile(file, 'utf8')) };
}

function succeeded(printed: Printed): Printed {
  assert.equal(printed.code, 0, printed.stderr);
  return printed;
}

function failed(printed: Printed, code: number, reason: RegExp): void {
  assert.equal(printed.code, code, printed.stderr);
  assert.match(printed.stderr, reason);
  assert.match(printed.stderr, /^holdall: [^\n]+\n$/);
  assert.equal(printed.stdout, '');
}

describe('holdall user', () => {
  it('adds a user with a password to a missing file that only its owner can read', async (t) => {
    const { file, run, read } = await open(t, '');
    succeeded(await run('user', 'add', 'ann', '--group', 'family', '-g', 'admins', '-g', 'family'));
    const [ann] = (await read()).users;
    assert.deepEqual([ann?.name, ann?.groups], ['ann', ['family', 'admins']]);
    assert.match(ann?.password ?? '', /^scrypt:/);
    assert.equal((await stat(file)).mode & 0o777, 0o600);
  });

  it('keeps the other text, the permissions and a symbolic link', async (t) => {
    const { folder, file, run } = await open(t);
    const link = join(folder, 'link.json');
    await symlink('access.json', link);
    succeeded(await run('user', 'add', 'cy', '--no-password', '--file', link));
    const text = await readFile(file, 'utf8');
    assert.equal(text.replace(/,\n\t\t"cy": \{\}/, ''), FILE);
    assert.notEqual(text, FILE);
    assert.equal((await stat(file)).mode & 0o777, 0o640);
    assert.ok((await lstat(link)).isSymbolicLink());
    assert.deepEqual((await readdir(folder)).toSorted(), ['access.json', 'link.json']);
  });

  for (const name of ['__proto__', 'constructor', 'quo"te\\', 'é 日本', 'a:b', '.', '\u202e']) {
    it(`adds, lists and removes the user ${JSON.stringify(name)}`, async (t) => {
      const { run } = await open(t);
      succeeded(await run('user', 'add', name, '--no-password'));
      failed(await run('user', 'add', name), 1, /already has the user/);
      const listed: unknown = JSON.parse(succeeded(await run('user', 'list', '--json')).stdout);
      assert.deepEqual(Array.isArray(listed) && listed.at(-1), { name, hasPassword: false, groups: [], tokens: [] });
      assert.doesNotMatch(succeeded(await run('user', 'list')).stdout, /[^\P{Cc}\n]|\u202e/u);
      succeeded(await run('user', 'remove', name));
      failed(await run('user', 'passwd', name), 1, /has no user/);
    });
  }

  it('rejects names that no user can have', async (t) => {
    const { file, run } = await open(t);
    for (const name of ['', 'a\nb', 'x'.repeat(201)]) failed(await run('user', 'add', name), 2, /1 to 200 characters/);
    assert.equal(await readFile(file, 'utf8'), FILE);
  });

  it('sets a password, also of a user without one', async (t) => {
    const { run, read } = await open(t);
    for (const name of ['ann', 'bo']) succeeded(await run('user', 'passwd', name));
    const [ann, bo] = (await read()).users;
    assert.ok(ann?.password && !FILE.includes(ann.password));
    assert.ok(await verifyPassword(PASSWORD, bo?.password ?? ''));
  });

  it('removes a user with all of their grants, and no other', async (t) => {
    const { run, read } = await open(t);
    const { stdout } = succeeded(await run('user', 'remove', 'bo', '--json'));
    assert.deepEqual(JSON.parse(stdout), { name: 'bo', removed: { tokens: 0, grants: 2 } });
    const { users, grants } = await read();
    assert.deepEqual([users.map(({ name }) => name), grants.map(({ folder }) => folder)], [['ann'], ['', 'd/']]);
  });

  it('prints no hash', async (t) => {
    const { run } = await open(t);
    for (const format of [[], ['--json']]) {
      assert.doesNotMatch(succeeded(await run('user', 'list', ...format)).stdout, /scrypt/);
    }
  });
});

describe('holdall token', () => {
  it('adds a token to a user, lists and revokes it', async (t) => {
    const { run, read } = await open(t);
    for (const name of ['laptop', 'phone']) {
      const { stdout } = succeeded(await run('token', 'new', 'ann', '--name', name, '--expires', '2037-01-01'));
      const token = (await read()).users[0]?.tokens.at(-1);
      assert.deepEqual([token?.name, token?.hash], [name, hashToken(stdout.trim())]);
    }
    failed(await run('token', 'new', 'ann', '--name', 'phone'), 1, /already has a token "phone"/);
    failed(await run('token', 'new', 'nobody'), 1, /has no user "nobody"/);
    assert.match(
      succeeded(await run('token', 'list')).stdout,
      /^USER +TOKEN +EXPIRES\nann +laptop +2037-01-01T00:00:00\.000Z\nann +phone +2037/,
    );
    succeeded(await run('token', 'revoke', 'ann', 'laptop'));
    failed(await run('token', 'revoke', 'ann', 'laptop'), 1, /has no token "laptop"/);
    const { stdout } = succeeded(await run('token', 'list', 'ann', '--json'));
    assert.deepEqual(JSON.parse(stdout), [
      { user: 'ann', name: 'phone', expires: '2037-01-01T00:00:00.000Z', isExpired: false },
    ]);
  });
});

describe('holdall grant', () => {
  it('adds a grant, replaces its permissions and removes it', async (t) => {
    const { run, read } = await open(t);
    const grantsOf = async () => (await read()).grants.slice(4).map(({ to, permissions }) => ({ to, permissions }));
    const to = { kind: 'group', name: 'family' };
    succeeded(await run('grant', 'set', 'photos', 'group:family', 'write,read'));
    assert.deepEqual(await grantsOf(), [{ to, permissions: ['read', 'write'] }]);
    succeeded(await run('grant', 'set', '/photos/', 'group:family', 'none'));
    assert.deepEqual(await grantsOf(), [{ to, permissions: [] }]);
    assert.match(succeeded(await run('grant', 'list')).stdout, /\n\/photos\/ +group:family +none\n/);
    const { stdout } = succeeded(await run('grant', 'remove', '/photos', 'group:family', '--json'));
    assert.deepEqual(JSON.parse(stdout), { folder: '/photos/', subject: 'group:family', permissions: [] });
    assert.deepEqual(await grantsOf(), []);
    failed(
      await run('grant', 'remove', '/photos', 'group:family'),
      1,
      /has no grant for "group:family" in "\/photos\/"/,
    );
  });

  it('rejects invalid arguments and unknown users', async (t) => {
    const { file, run } = await open(t);
    for (const [args, reason] of [
      [['/', 'ann', 'read'], /The subject must be user:NAME/],
      [['/', 'user:', 'read'], /The subject must be/],
      [['/', 'everyone', 'read,read'], /not "read,read"/],
      [['/', 'everyone', ''], /The permissions must be/],
      [['a/../b', 'everyone', 'read'], /\.\./],
      [['', 'everyone', 'read'], /The folder is empty\. Use "\/"/],
    ] as const) {
      failed(await run('grant', 'set', ...args), 2, reason);
    }
    failed(await run('grant', 'set', '/', 'user:nobody', 'read'), 1, /has no user "nobody"/);
    assert.equal(await readFile(file, 'utf8'), FILE);
  });
});

describe('A command that changes the access file', () => {
  it('leaves an invalid file as it is', async (t) => {
    const { file, run } = await open(t, '{ "grants": [ }');
    failedInFile(await run('user', 'add', 'cy', '--no-password'), 78, /line 1, column 15/);
    assert.equal(await readFile(file, 'utf8'), '{ "grants": [ }');
  });

  it('fails while another one changes it, and loses no change of those that succeed', async (t) => {
    const { file, run, read } = await open(t);
    await writeFile(`${file}.lock`, '');
    failed(await run('user', 'add', 'cy', '--no-password'), 1, /Another command is changing .*remove the file/);
    assert.equal(await readFile(`${file}.lock`, 'utf8'), '');
    const { file: other, run: runAnother, read: readOther } = await open(t);
    const names = Array.from({ length: 8 }, (_, index) => `user${index}`);
    const printed = await Promise.all(names.map((name) => runAnother('user', 'add', name, '--no-password')));
    const added = names.filter((_, index) => printed[index]?.code === 0);
    assert.ok(added.length > 0);
    assert.deepEqual((await readOther()).users.map(({ name }) => name).toSorted(), ['ann', 'bo', ...added].toSorted());
    await assert.rejects(stat(`${other}.lock`), { code: 'ENOENT' });
    assert.equal((await read()).users.length, 2);
  });

  it('says which folder is missing, and needs a file', async (t) => {
    const { folder, run } = await open(t);
    const missing = join(folder, 'no', 'access.json');
    failed(await run('user', 'add', 'cy', '--no-password', '--file', missing), 1, /its folder does not exist/);
    failed(await runCli(['user', 'list']), 2, /Pass --file FILE, or set ACCESS_FILE/);
    failedInFile(await run('user', 'list', '--file', missing), 78, /the file does not exist/);
  });
});

/** As `failed`, for the errors of a file, which can have several lines. */
function failedInFile(printed: Printed, code: number, reason: RegExp): void {
  assert.equal(printed.code, code, printed.stderr);
  assert.match(printed.stderr, reason);
}
