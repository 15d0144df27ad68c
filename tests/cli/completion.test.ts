import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { COMMANDS } from '../../src/cli/commands.ts';
import { runCli } from '../../testing/cli.ts';
import { temporaryFolder } from '../../testing/holdall.ts';

const firstWords = [...new Set(COMMANDS.map(({ name }) => name.split(' ')[0] ?? ''))];

async function scriptFor(t: TestContext, shell: string): Promise<string> {
  const { code, stdout } = await runCli(['completion', shell]);
  assert.equal(code, 0);
  const file = join(await temporaryFolder(t), 'completion');
  await writeFile(file, stdout);
  return file;
}

function run(shell: string, script: string, ...args: string[]): string {
  const { status, stdout, stderr } = spawnSync(shell, ['-c', script, ...args], { encoding: 'utf8', timeout: 60_000 });
  assert.deepEqual([status, stderr], [0, '']);
  return stdout;
}

const isMissing = (shell: string) => spawnSync(shell, ['-c', ':']).error !== undefined && `${shell} is not installed`;

describe('holdall completion', () => {
  it('completes words, subcommands and options in bash', async (t) => {
    const file = await scriptFor(t, 'bash');
    const complete = (...words: string[]) =>
      run(
        'bash',
        'source "$0"; COMP_WORDS=(holdall "$@"); COMP_CWORD=$#; _holdall; printf "%s\\n" "${COMPREPLY[@]}"',
        file,
        ...words,
      )
        .split('\n')
        .filter((word) => word !== '');
    assert.deepEqual(complete(''), [...firstWords, '--help', '--version']);
    assert.deepEqual(complete('us'), ['user']);
    assert.deepEqual(complete('user', ''), ['add', 'list', 'passwd', 'remove']);
    assert.deepEqual(complete('user', 'add', '--g'), ['--group']);
    assert.deepEqual(complete('help', 'grant', ''), ['list', 'set', 'remove']);
    assert.deepEqual(complete('completion', ''), ['--help', 'bash', 'zsh', 'fish']);
    assert.deepEqual(complete('serve', "it's $(here) *", ''), complete('serve', ''));
  });

  it('completes words, subcommands and options in fish', { skip: isMissing('fish') }, async (t) => {
    const file = await scriptFor(t, 'fish');
    const complete = (line: string) =>
      run('fish', `source ${file}; complete -C '${line}'`)
        .split('\n')
        .filter((each) => each.includes('\t'))
        .map((each) => each.split('\t')[0]);
    assert.deepEqual(complete('holdall us'), ['user']);
    assert.deepEqual(complete('holdall user '), ['add', 'list', 'passwd', 'remove']);
    assert.deepEqual(complete('holdall user add --gr'), ['--group']);
  });

  it('completes words and subcommands in zsh', { skip: isMissing('zsh') }, async (t) => {
    const file = await scriptFor(t, 'zsh');
    // Replaces the functions of the completion system, which need a terminal.
    const complete = (...words: string[]) =>
      run(
        'zsh',
        'compdef() { :; }; _describe() { print -l -- ${(P)2%%:*}; }; _files() { :; }; source "$0"; words=(holdall "$@"); CURRENT=$#words; _holdall',
        file,
        ...words,
      )
        .split('\n')
        .filter((word) => word !== '');
    assert.deepEqual(complete(''), [...firstWords, '--help', '--version']);
    assert.deepEqual(complete('user', ''), ['add', 'list', 'passwd', 'remove']);
  });

  it('rejects an unknown shell', async () => {
    const { code, stderr } = await runCli(['completion', 'csh']);
    assert.equal(code, 2);
    assert.match(stderr, /The shell must be one of bash, zsh, fish, not "csh"\./);
  });
});
