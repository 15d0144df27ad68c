import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { fileURLToPath } from 'node:url';
import { hashToken, MAX_PASSWORD_BYTES, verifyPassword } from '../../src/access/credentials.ts';
import { COMMANDS } from '../../src/cli/commands.ts';
import { version, versionAndCommit } from '../../src/system.ts';
import { runCli } from '../../testing/cli.ts';
import { atEnd, temporaryFolder } from '../../testing/holdall.ts';
import { until } from '../../testing/until.ts';

const SCRIPT = fileURLToPath(new URL('../../bin/holdall.js', import.meta.url));

async function accessFile(t: TestContext, contents: unknown): Promise<string> {
  const file = join(await temporaryFolder(t), 'access.json');
  await writeFile(file, typeof contents === 'string' ? contents : JSON.stringify(contents, null, 2));
  return file;
}

const runHere = (args: string, environment: Readonly<Record<string, string>> = {}, input: Buffer | string = '') =>
  runCli(args.split(' '), { environment, input });

describe('holdall token new', () => {
  it('prints only the token on stdout and its access file entry on stderr', async (t) => {
    const ran = await runHere('token new --name laptop --expires 2037-01-01');
    assert.equal(ran.code, 0);
    assert.match(ran.stdout, /^holdall_[\w-]{43}\n$/);
    const token = ran.stdout.trim();
    assert.doesNotMatch(ran.stderr, new RegExp(token));
    const entry: unknown = JSON.parse(ran.stderr.slice(ran.stderr.indexOf('{')));
    assert.deepEqual(entry, { name: 'laptop', hash: hashToken(token), expires: '2037-01-01T00:00:00Z' });
    const file = await accessFile(t, { people: { ann: { tokens: [entry] } }, grants: [] });
    assert.equal((await runHere(`access check ${file}`)).stdout, `${file} is valid: 1 user, 1 token, 0 grants.\n`);
  });

  it('rejects invalid arguments and expiry dates in the past', async () => {
    for (const args of [
      '--expires soon',
      '--expires 0d',
      '--expires 2020-01-01',
      '--expires 2037-01-01T00:00:00',
      '--expires 999999y',
      '--name a\nb',
      'x',
    ]) {
      const ran = await runHere(`token new ${args}`);
      assert.deepEqual([ran.code, ran.stdout], [2, ''], args);
      assert.match(ran.stderr, /^holdall: .+ See "holdall token new --help"\.\n$/, args);
    }
    assert.match((await runHere('token new --expires 2037-01-01T00:00:00')).stderr, /a time with a zone/);
  });
});

describe('holdall password', () => {
  const hash = (input: Buffer | string) =>
    spawnSync(process.execPath, [SCRIPT, 'password'], { input, encoding: 'utf8' });

  it('prints the hash of stdin without the trailing line break', async () => {
    const ran = hash('  p\u00e4ss word \r\n');
    assert.deepEqual([ran.status, ran.stderr], [0, '']);
    assert.match(ran.stdout, /^scrypt:[^\n]+\n$/);
    assert.ok(await verifyPassword('  p\u00e4ss word ', ran.stdout.trim()));
  });

  for (const [what, input, reason] of [
    ['a line break alone', '\n', /empty/],
    ['one that is too long', 'hunter2'.repeat(MAX_PASSWORD_BYTES), /more than 1024 bytes/],
    ['what is not UTF-8', Buffer.from([0xff, 0xfe]), /UTF-8/],
    ['a zero byte', 'hunter22\0', /control character/],
    ['two lines', 'hunter22\nhunter22\n', /a line break .*Forms can't send those/],
    ['one that is easily guessed', 'hunter2', /fewer than 8 characters/],
    ['seven characters of four bytes each', '\u{1f600}'.repeat(7), /fewer than 8 characters/],
  ] as const) {
    it(`rejects ${what} with a one-line error that omits the password`, async () => {
      const ran = await runHere('password', {}, input);
      assert.deepEqual([ran.code, ran.stdout], [1, '']);
      assert.match(ran.stderr, reason);
      assert.match(ran.stderr, /^holdall: [^\n]+\n$/);
      assert.doesNotMatch(ran.stderr, /hunter2/);
    });
  }

  /** Runs the command on a pseudo-terminal, on which the answers are typed one after the other. */
  const runOnTerminal = async (t: TestContext, responses: readonly string[]) => {
    const command = `'${process.execPath}' '${SCRIPT}' password`;
    const child = spawn('script', ['-qec', command, '/dev/null'], { stdio: ['pipe', 'pipe', 'inherit'] });
    atEnd(t, () => child.kill('SIGKILL'));
    let shown = '';
    child.stdout.on('data', (chunk: Buffer) => void (shown += chunk.toString()));
    const ended = new Promise<number | null>((resolve) => child.once('close', resolve));
    for (const [index, response] of responses.entries()) {
      await until('the command prompts', () => shown.split(': ').length > index + 1);
      child.stdin.write(response);
    }
    return { code: await ended, shown };
  };
  const skip = spawnSync('script', ['--version']).error ? 'there is no script of util-linux' : false;

  it('prompts twice on a terminal and does not echo the password', { skip }, async (t) => {
    const { code, shown } = await runOnTerminal(t, ['hunter-3\u007f2\r', 'hunter-2\r']);
    assert.equal(code, 0, shown);
    assert.doesNotMatch(shown, /hunter|\*/);
    const [, printed = ''] = /^Password: \r\nRepeat password: \r\n(scrypt:\S+)\r\n$/.exec(shown) ?? [];
    assert.ok(await verifyPassword('hunter-2', printed), JSON.stringify(shown));
  });

  it('rejects two different passwords', { skip }, async (t) => {
    const { code, shown } = await runOnTerminal(t, ['hunter2\r', 'hunter3\r']);
    assert.deepEqual([code, shown.split('\r\n')[2]], [1, "holdall: The passwords don't match."]);
    assert.doesNotMatch(shown, /hunter/);
  });

  it('exits on Ctrl+C', { skip }, async (t) => {
    const { code, shown } = await runOnTerminal(t, ['hunt\u0003']);
    assert.equal(code, 130, shown);
    assert.doesNotMatch(shown, /hunt|scrypt/);
  });
});

describe('holdall access check', () => {
  it('accepts a valid file and warns about probable mistakes', async (t) => {
    const grants = [{ folder: '/', to: { group: 'famliy' }, rights: ['read'] }];
    const file = await accessFile(t, { people: { ann: { groups: ['family'] }, bob: {} }, grants });
    const ran = await runHere(`access check ${file}`);
    assert.deepEqual([ran.code, ran.stderr], [0, '']);
    assert.match(
      ran.stdout,
      /is valid: 2 users, 0 tokens, 1 grant\.\n {2}The group "famliy" of line \d+ has no members .*\n {2}"ann" has no password and no token/,
    );
  });

  it('reports every mistake without printing a secret', async (t) => {
    const file = await accessFile(t, '{ "people": { "ann": { "password": "hunter2" } },\n  "grants": {} }');
    const ran = await runHere(`access check ${file}`);
    assert.deepEqual([ran.code, ran.stdout], [78, '']);
    const [title, ...problems] = ran.stderr.trimEnd().split('\n');
    assert.equal(title, `holdall: ${file} has 2 errors:`);
    assert.match(problems[0] ?? '', /^ {2}line 1, column 36 \(people\.ann\.password\): /);
    assert.match(problems[1] ?? '', /^ {2}line 2, column 13 \(grants\): /);
    assert.doesNotMatch(ran.stderr, /hunter2/);
  });

  it('prints a one-line error when the file does not exist', async () => {
    const ran = await runHere('access check nowhere.json');
    assert.equal(ran.code, 78);
    assert.equal(ran.stderr, "holdall: nowhere.json can't be read: the file does not exist.\n");
  });
});

describe('holdall access explain', () => {
  const FILE = {
    people: { ann: { groups: ['family'] }, bob: {}, root: { groups: ['heads'] } },
    grants: [
      { folder: '/', to: { person: 'ann' }, rights: ['read'] },
      { folder: '/photos', to: { group: 'family' }, rights: ['read', 'manage'] },
      { folder: '/photos/closed', to: { person: 'ann' }, rights: [] },
      { folder: '/inbox', to: 'everyone', rights: ['write'] },
      { folder: '/staff', to: { group: 'staff' }, rights: ['read'] },
      { folder: '/heads', to: { group: 'heads' }, rights: ['read', 'write'] },
      { folder: '/heads/a', to: { group: 'heads' }, rights: ['read', 'manage'] },
    ],
  };
  /** Returns the line numbers at which the grants of the file begin, once it is written with an indent of two. */
  const lines = JSON.stringify(FILE, null, 2)
    .split('\n')
    .flatMap((line, index) => (line === '    {' ? [index + 1] : []));

  for (const [requested, code, said] of [
    ['ann fetch photos/a.jpg', 0, [/"ann" may fetch the file "\/photos\/a.jpg"/, 0, 1]],
    ['ann fetch photosx/a.jpg', 0, [0]],
    ['ann fetch photos/closed/a.jpg', 1, [/may not/, 2, /overridden by line/]],
    ['ann delete /photos/open', 0, [/the file "\/photos\/open"/, 1]],
    ['ann delete /photos/', 1, [/required for the whole folder, but not granted in "\/photos\/closed\/"/, 2]],
    ['ann replace inbox/a', 1, [/"write" is granted/, /"manage" is not granted/, 3]],
    ['everyone upload inbox/', 0, [/anonymous user may upload to the folder/, 3]],
    ['ann move-from photos/closed/', 1, [/"ann" may not move the folder/, 2]],
    ['ann copy-to inbox/a', 0, [/"ann" may copy something to the file/, 3]],
    ['ann rename photos/open/', 1, [/"write" is not granted in "\/photos\/", which will contain the new name/, 1]],
    ['carl --group heads rename heads/a/', 0, [/"write" is granted in "\/heads\/", which/, 5, 6]],
    ['carl --group heads rename heads/', 1, [/"write" is not granted in "\/", which/]],
    ['ann list /', 0, [0]],
    ['everyone upload /', 1, [/may not upload to the folder "\/"/]],
    ...['delete', 'rename', 'replace', 'create', 'copy-from', 'copy-to', 'move-from', 'move-to'].map(
      (verb) => [`root ${verb} /`, 1, [/^No user may \w.* the folder "\/"/]] as const,
    ),
    ['everyone list /', 1, [/only the folders that lead to/]],
    ['bob read photos/', 1, [/no grant applies/]],
    ['bob --group staff list staff', 0, [4]],
    ['carl --group staff read staff/x', 0, [4]],
  ] as const) {
    it(`explains the permissions for: ${requested}`, async (t) => {
      const file = await accessFile(t, FILE);
      const ran = await runHere(`access explain ${requested}`, { ACCESS_FILE: file });
      assert.deepEqual([ran.code, ran.stderr], [code, ''], ran.stdout);
      for (const each of said) {
        assert.match(ran.stdout, typeof each === 'number' ? new RegExp(`^ +line ${lines[each]}, "/`, 'm') : each);
      }
    });
  }

  for (const requested of [
    'carl read a',
    'ann eat a',
    'ann toString a',
    'ann read ../a',
    'ann read',
    'ann read a b',
    'ann fetch a/',
    'everyone --group staff read a',
  ]) {
    it(`exits with 2 for invalid arguments: ${requested}`, async (t) => {
      const file = await accessFile(t, FILE);
      const ran = await runHere(`access explain ${requested}`, { ACCESS_FILE: file });
      assert.deepEqual([ran.code, ran.stdout], [2, '']);
      assert.match(ran.stderr, /^holdall: \S/);
    });
  }

  it('requires an access file and reads the file given by --file', async (t) => {
    const file = await accessFile(t, FILE);
    assert.match(
      (await runHere('access explain ann read a')).stderr,
      /No access file is selected\. Pass --file FILE, or set ACCESS_FILE\./,
    );
    assert.equal((await runHere(`access explain ann read a --file ${file}`, { ACCESS_FILE: 'nowhere' })).code, 0);
    assert.equal((await runHere('access explain ann read a --file nowhere.json')).code, 78);
  });
});

describe('The holdall commands', () => {
  it('are all listed by --help, which fits one screen', async () => {
    const { code, stdout, stderr } = await runHere('--help');
    assert.deepEqual([code, stderr], [0, '']);
    const lines = stdout.trimEnd().split('\n');
    assert.ok(lines.length >= 24 && lines.length <= 40, `${lines.length} lines`);
    for (const line of lines) assert.ok(line.length <= 100, line);
    for (const { name } of COMMANDS) {
      const [group, command] = name.split(' ');
      const row = lines.find((line) => line.startsWith(`  ${group} `)) ?? assert.fail(name);
      if (command) assert.match(row, new RegExp(`[ |]${command}(?:[ |]|$)`));
    }
    assert.deepEqual(await runHere('help'), { code, stdout, stderr });
  });

  it('have help with usage, examples and options within 100 columns', async () => {
    for (const { name, summary, examples, options = [] } of COMMANDS) {
      const { code, stdout } = await runHere(`${name} --help`);
      assert.equal(code, 0);
      assert.ok(stdout.startsWith(`${summary}\n`), stdout);
      assert.ok(stdout.includes(`\nUsage:\n  holdall ${name}`), stdout);
      for (const text of [...Object.keys(examples), ...options.map(({ flags }) => flags)]) {
        assert.ok(stdout.includes(`\n  ${text}`), `${text}: ${stdout}`);
      }
      for (const line of stdout.split('\n')) assert.ok(line.length <= 100, line);
      assert.equal((await runHere(`help ${name}`)).stdout, stdout);
    }
  });

  it('are explained as a group', async () => {
    const { code, stdout } = await runHere('token -h');
    assert.equal(code, 0);
    assert.match(stdout, /\nUsage:\n {2}holdall token new \[user\] \[options\]\n/);
  });

  for (const [args, message] of [
    ['docter', 'Unknown command "docter". Did you mean "doctor"? See "holdall --help".'],
    ['access chek', 'Unknown command "chek". Did you mean "check"? See "holdall access --help".'],
    ['serve --prot 1', 'Unknown option "--prot". Did you mean "--port"? See "holdall serve --help".'],
    ['--read-olny', 'Unknown option "--read-olny". Did you mean "--read-only"? See "holdall serve --help".'],
    ['access explain ann', 'Missing required argument "verb". See "holdall access explain --help".'],
    ['help settings no such', 'Unexpected argument "such". See "holdall help --help".'],
    ['help settings NOWHERE', 'No setting has a name with "NOWHERE". See "holdall help --help".'],
    ['./no-such-folder', 'The folder "./no-such-folder" does not exist. See "holdall serve --help".'],
    ['serve package.json', '"package.json" is not a folder. See "holdall serve --help".'],
  ] as const) {
    it(`exit with 2 and one line for invalid arguments: ${args}`, async () => {
      assert.deepEqual(await runHere(args), { code: 2, stdout: '', stderr: `holdall: ${message}\n` });
    });
  }

  it('show invalid arguments without control characters', async () => {
    for (const args of [
      ['no\u001b[31m\nsuch'],
      ['serve', '--no\u001b[31m\nsuch'],
      ['serve', '--port', '\u001b[31m\n'],
    ]) {
      const { code, stderr } = await runCli(args);
      assert.equal(code, 2);
      assert.match(stderr, /^holdall: [^\u001b\n]*\\u001b\[31m\\n[^\u001b\n]*\n$/);
    }
  });

  it('reject an empty folder or option, such as the value of an unset shell variable', async () => {
    const { code, stderr } = await runCli(['serve', '']);
    assert.deepEqual(
      [code, stderr],
      [2, 'holdall: The folder is empty. Use "." to serve the working folder. See "holdall serve --help".\n'],
    );
    for (const option of ['--access-file', '--host', '--public-url', '--base-path']) {
      const ran = await runCli(['serve', option, '']);
      assert.equal(ran.code, 2);
      assert.match(ran.stderr, /^holdall: Option "[^"]+" argument "" is invalid\. It must not be empty\. See /);
    }
  });

  it('reject an invalid value of an option with the rule', async () => {
    const { code, stderr } = await runHere('serve --port 70000');
    assert.equal(code, 2);
    assert.match(stderr, /^holdall: Option "-p, --port <port>" argument "70000" is invalid\. It must be .*65535/);
  });

  it('list the settings of a topic with their defaults', async () => {
    const { stdout } = await runHere('help settings port');
    assert.match(stdout, /^ {2}PORT \[8080\]\n {6}Port to listen on/m);
    assert.doesNotMatch(stdout, /^ {2}HOST /m);
  });

  it('print the version', async () => {
    assert.deepEqual(await runHere('version'), { code: 0, stdout: `${versionAndCommit}\n`, stderr: '' });
    assert.deepEqual(await runHere('-v'), await runHere('version'));
    const details = JSON.parse((await runHere('version --json')).stdout) as Record<string, string>;
    assert.deepEqual([details['version'], details['commit'], details['node']], [version, null, process.versions.node]);
  });

  it('exit without an error when stdout is closed', async (t) => {
    // A pipe whose reader is closed before anything is printed.
    const child = spawn(process.execPath, [SCRIPT, 'token', 'new'], { stdio: ['ignore', 'pipe', 'pipe'] });
    atEnd(t, () => child.kill('SIGKILL'));
    child.stdout.destroy();
    let printed = '';
    child.stderr.on('data', (chunk: Buffer) => void (printed += chunk.toString()));
    const code = await new Promise<number | null>((resolve) => child.once('close', resolve));
    assert.equal(code, 0, printed);
    assert.doesNotMatch(printed, /EPIPE/);
  });

  it('are listed when the command is incomplete', async () => {
    const ran = await runHere('access');
    assert.equal(ran.code, 2);
    assert.match(ran.stderr, /holdall access check \[file\].*\n {2}holdall access explain <user>/);
  });
});
