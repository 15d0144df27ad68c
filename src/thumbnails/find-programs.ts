import { execFile } from 'node:child_process';
import { access, constants } from 'node:fs/promises';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { promisify } from 'node:util';
import { parseFile } from '../model/path.ts';
import type { FileEntry } from '../model/store.ts';
import { RenderError } from './errors.ts';
import { MAX_CHILD_MEMORY_BYTES } from './limits.ts';
import { type FoundPrograms, programNames, SANDBOX_PROGRAMS, STILL_KINDS, STILL_PROGRAMS } from './programs.ts';
import { FULL_PROTECTION, type SandboxProtection, sandboxed } from './sandbox.ts';
import { isShortage } from './shortage.ts';
import { drawStill } from './stills.ts';
import { systemCallFilter } from './system-call-filter.ts';

/** The folder of the programs. The sandbox has no other one. */
const PROGRAM_FOLDER = '/usr/bin';

/** Timeout of the test of the sandbox, in milliseconds. */
const PROBE_TIMEOUT_MS = 10_000;

/** Attempts of the test, while the machine is too busy for it. The result applies until the service restarts. */
const PROBE_ATTEMPTS = 3;

/** Finds out which kinds of files can be drawn on this machine, by starting the sandbox once. Never rejects. */
export async function findPrograms(): Promise<FoundPrograms> {
  const missingOfSandbox = await missingAmong(SANDBOX_PROGRAMS, (name) => [name]);
  const absent = await missingAmong(STILL_KINDS, (kind) => STILL_PROGRAMS[kind]);
  const missing = [...missingOfSandbox, ...absent.map(programNames)];
  const present = STILL_KINDS.filter((kind) => !absent.includes(kind));
  if (present.length === 0 || missingOfSandbox.length > 0) return { kinds: [], missing };
  let sandboxError: string | undefined;
  for (const protection of PROTECTIONS) {
    sandboxError = await probeSandbox(protection);
    if (sandboxError !== undefined) continue;
    const lacksHevc = present.includes('heic') && !(await drawsHeic(protection));
    if (!lacksHevc) return { kinds: present, missing, protection };
    return { kinds: present.filter((kind) => kind !== 'heic'), missing, protection, lacksHevc };
  }
  return { kinds: [], missing, ...(sandboxError !== undefined && { sandboxError }) };
}

/** What a sandbox can have, the strongest first. */
const PROTECTIONS: readonly SandboxProtection[] = [
  FULL_PROTECTION,
  { filtersCalls: true, forbidsNamespaces: false },
  { filtersCalls: false, forbidsNamespaces: true },
  { filtersCalls: false, forbidsNamespaces: false },
].filter(({ filtersCalls }) => !filtersCalls || systemCallFilter() !== undefined);

/** Returns the items of which no program is installed. */
async function missingAmong<Item>(
  items: readonly Item[],
  programsOf: (item: Item) => readonly string[],
): Promise<readonly Item[]> {
  const installed = await Promise.all(
    items.map(async (item) => (await Promise.all(programsOf(item).map(isInstalled))).includes(true)),
  );
  return items.filter((_, index) => !installed[index]);
}

async function isInstalled(name: string): Promise<boolean> {
  try {
    await access(join(PROGRAM_FOLDER, name), constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

/** A HEIC image of 64 × 64 pixels, all of them grey. */
const HEIC_SAMPLE = Buffer.from(
  'AAAAHGZ0eXBoZWljAAAAAG1pZjFoZWljbWlhZgAAAUJtZXRhAAAAAAAAACFoZGxyAAAAAAAAAABwaWN0AAAAAAAAAAAAAAAAAAAAAA5waXRtAAAAAAABAAAAImls' +
    'b2MAAAAAREAAAQABAAAAAAFmAAEAAAAAAAAADgAAACNpaW5mAAAAAAABAAAAFWluZmUCAAAAAAEAAGh2YzEAAAAAwmlwcnAAAACkaXBjbwAAAHhodmNDAQNwAAAA' +
    'AAAAAAAAHvAA/P34+AAADwMgAAEAGEABDAH//wNwAAADAJAAAAMAAAMAHroCQCEAAQArQgEBA3AAAAMAkAAAAwAAAwAeoCCBBZbqSSmubgQEDAgAAAMACAAAAwAI' +
    'QCIAAQAHRAHBcrAiQAAAABRpc3BlAAAAAAAAAEAAAABAAAAAEHBpeGkAAAAAAwgICAAAABZpcG1hAAAAAAAAAAEAAQOBAoMAAAAWbWRhdAAAAAooAa8EGPxK15vA',
  'base64',
);

/** Returns whether libheif can decode HEIC images. A machine that is too busy for the test counts as one that can. */
async function drawsHeic(protection: SandboxProtection): Promise<boolean> {
  const path = parseFile('sample.heic');
  const file: FileEntry = {
    kind: 'file',
    path,
    size: HEIC_SAMPLE.length,
    etag: '',
    modified: null,
    type: 'image/heic',
  };
  const read = async () => ({ file, bytes: HEIC_SAMPLE, body: Readable.from([]) });
  const limits = {
    cpuTimeMs: PROBE_TIMEOUT_MS,
    deadlineMs: PROBE_TIMEOUT_MS,
    memoryLimitBytes: MAX_CHILD_MEMORY_BYTES,
  };
  const { signal } = new AbortController();
  try {
    await drawStill({ read }, file, { ...limits, kind: 'heic', protection, signal, readTimeoutMs: PROBE_TIMEOUT_MS });
    return true;
  } catch (error) {
    return !(error instanceof RenderError && error.fault === 'no-still');
  }
}

/** Returns why the sandbox does not start; undefined if it does. Containers often forbid it. */
async function probeSandbox(protection: SandboxProtection, attempt = 1): Promise<string | undefined> {
  const limits = { input: '/usr/bin/true', memoryBytes: 2 ** 30, seconds: 5, protection };
  const { file, args, stdin } = sandboxed(['true'], limits);
  try {
    const running = promisify(execFile)(file, args, { env: {}, timeout: PROBE_TIMEOUT_MS, killSignal: 'SIGKILL' });
    running.child.stdin?.on('error', () => {}).end(stdin);
    await running;
    return undefined;
  } catch (error) {
    const { stderr, killed } = error as { stderr?: unknown; killed?: unknown };
    if (attempt < PROBE_ATTEMPTS && (killed === true || isShortage(error)))
      return probeSandbox(protection, attempt + 1);
    const [line = ''] = (typeof stderr === 'string' ? stderr.trim() : '').split('\n');
    return line || String(error);
  }
}
