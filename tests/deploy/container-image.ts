import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { DockerfileParser, type Instruction } from 'dockerfile-ast';
import { startHoldall } from '../../testing/holdall.ts';
import { send, upload } from '../http/client.ts';
import { assertThumbnail, plain, RED } from '../thumbnails/images.ts';

export const ROOT = fileURLToPath(new URL('../../', import.meta.url));
export const DOCKERFILE = await readFile(join(ROOT, 'Dockerfile'), 'utf8');

const run = promisify(execFile);
const instructions = DockerfileParser.parse(DOCKERFILE).getInstructions();

/** Returns the instructions of the Dockerfile with a keyword. */
export const all = (keyword: string) => instructions.filter((each) => each.getKeyword() === keyword);

export const contentOf = (instruction: Instruction | undefined) => instruction?.getRawArgumentsContent() ?? '';

/** Returns the command of an instruction in the form of a list. */
export const listOf = (instruction: Instruction | undefined): string[] =>
  JSON.parse(contentOf(instruction).replace(/^[^[]*/s, ''));

/** Starts the application in a folder as the image does: it serves files, docs and thumbnails, and passes its health check. */
export async function serveAsContainer(t: TestContext, app: string, healthCheck: readonly string[]): Promise<void> {
  const reason = await run('unshare', ['--mount', 'true']).then(() => undefined, String);
  if (reason !== undefined) return t.skip(`mounts of its own are not allowed here: ${reason}`);
  const holdall = await startHoldall(t, {
    command: ['unshare', '--mount', 'sh', '-c', CONFINED, process.execPath],
    script: join(app, 'bin/holdall.js'),
    settings: { WORKERS: '2' },
  });
  const { port } = holdall;
  await upload(port, 'pictures/red.png', await plain(RED).png().toBuffer());
  await assertThumbnail((await send(port, '/thumb/pictures/red.png')).body, [160, 160, RED]);
  assert.equal((await send(port, '/-/docs/')).status, 200);
  const [, ...check] = healthCheck;
  const probe = (at: number) => run(process.execPath, check, { env: { PORT: String(at) } });
  await probe(port);
  holdall.signal('SIGTERM');
  assert.deepEqual(await holdall.ended, { code: 0, signal: null });
  await assert.rejects(probe(port), { code: 1 });
}

/** Runs a command that can write only to the served folder, has no capabilities, and can't gain any. */
const CONFINED = `
  mount --make-rprivate / &&
  mount --bind "$DISK_ROOT" "$DISK_ROOT" &&
  mount -o remount,bind,ro "$(stat --format %m "$(dirname "$1")")" &&
  ! mkdir "$(dirname "$1")/../empty/made" 2>/dev/null &&
  exec setpriv --no-new-privs --bounding-set=-all --inh-caps=-all "$0" "$@"`;
