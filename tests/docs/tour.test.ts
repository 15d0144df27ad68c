import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { promisify } from 'node:util';
import { disk } from '../contract/backend.ts';
import { startService } from '../http/service.ts';
import type { Need } from '../runner/needs.ts';

export const needs: readonly Need[] = ['curl'];

const run = promisify(execFile);

describe('The first-run tutorial', () => {
  it('prints the documented output when pasted unchanged', async () => {
    const steps = stepsOf(await readFile(new URL('../../docs/tutorials/first-run.md', import.meta.url), 'utf8'));
    assert.ok(steps.filter(({ prints }) => prints !== undefined).length >= 14);
    const service = await startService(disk);
    const folder = await mkdtemp(join(tmpdir(), 'holdall-tour-'));
    try {
      for (const { command, prints } of steps) {
        const here = command.replaceAll('127.0.0.1:8080', `127.0.0.1:${service.port}`);
        const { stdout } = await run('bash', ['-euo', 'pipefail', '-c', here], { cwd: folder });
        if (prints !== undefined) assert.equal(settled(stdout.trim()), settled(prints), command);
      }
    } finally {
      await service.stop();
      await rm(folder, { recursive: true, force: true });
    }
  });

  it('is introduced by working commands in the README', async () => {
    const readme = await readFile(new URL('../../README.md', import.meta.url), 'utf8');
    const [, commands = ''] = /## Use the API[^]*?```sh\n([^`]+)```/.exec(readme) ?? assert.fail();
    const service = await startService(disk);
    try {
      const here = commands.replaceAll('127.0.0.1:8080', `127.0.0.1:${service.port}`);
      const { stdout } = await run('bash', ['-euo', 'pipefail', '-c', here], {
        cwd: new URL('../../', import.meta.url),
      });
      assert.match(stdout, /"path":"notes\/README\.md"}\s*{"success":true,"prefix":"notes\/"/);
      assert.ok(stdout.endsWith(readme));
    } finally {
      await service.stop();
    }
  });

  it('uses every endpoint of the HTTP API', async () => {
    const commands = stepsOf(await readFile(new URL('../../docs/tutorials/first-run.md', import.meta.url), 'utf8'))
      .map(({ command }) => command)
      .join('\n');
    const endpoints = [
      'upload',
      'notes/',
      'file/',
      'thumb/',
      'rename/',
      'rename_folder/',
      'create_folder',
      'copy',
      'move',
      'delete/',
      'delete_folder/',
    ];
    for (const endpoint of endpoints) assert.ok(commands.includes(`http://127.0.0.1:8080/${endpoint}`), endpoint);
  });
});

interface Step {
  readonly command: string;
  readonly prints: string | undefined;
}

/** The commands of the tutorial, each with the block of output that follows it. */
function stepsOf(page: string): Step[] {
  return [...page.matchAll(/```sh\n([^`]+)```\n(?:```(?:json|text)\n([^`]+)```)?/g)].map(
    ([, command = '', prints]) => ({
      command,
      prints: prints?.trim(),
    }),
  );
}

/** Returns the output without times and ETags, which differ in each run. */
function settled(output: string): string {
  return output
    .replace(/"modified":"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z"/g, '"modified":"…"')
    .replace(/"etag":"\\"[\w-]+\\""/g, '"etag":"…"');
}
