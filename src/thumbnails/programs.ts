import { execFile } from 'node:child_process';
import { access, constants } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { FULL_PROTECTION, type SandboxProtection, sandboxed } from './sandbox.ts';
import { isShortage } from './shortage.ts';
import { systemCallFilter } from './system-call-filter.ts';

/** Kinds of files of which another program draws a still image. */
export const STILL_KINDS = ['video', 'pdf', 'heic'] as const;
export type StillKind = (typeof STILL_KINDS)[number];

/**
 * The programs that draw still images: ffmpeg a frame of a video, pdftoppm of Poppler the first page of a PDF, and
 * heif-convert of libheif a HEIC image, because the libvips that npm installs has no decoder for HEVC.
 */
export const STILL_PROGRAMS: Readonly<Record<StillKind, string>> = {
  video: 'ffmpeg',
  pdf: 'pdftoppm',
  heic: 'heif-convert',
};

/** The programs that make up the sandbox: bubblewrap, and prlimit of util-linux. */
export const SANDBOX_PROGRAMS = ['bwrap', 'prlimit'] as const;

/** The folder of the programs. The sandbox has no other one. */
const PROGRAM_FOLDER = '/usr/bin';

/** What is installed to draw videos, PDFs and HEIC images. */
export interface FoundPrograms {
  /** The kinds of files that can be drawn. */
  readonly kinds: readonly StillKind[];
  /** The programs that are missing. */
  readonly missing: readonly string[];
  /** Why the sandbox does not start, although its programs are installed. */
  readonly sandboxError?: string;
  /** What the sandbox supports on this machine, if it starts. */
  readonly protection?: SandboxProtection;
}

/** Nothing: the setting turned it off. */
export const NO_PROGRAMS: FoundPrograms = { kinds: [], missing: [] };

/** Timeout of the test of the sandbox, in milliseconds. */
const PROBE_TIMEOUT_MS = 10_000;

/** Attempts of the test, while the machine is too busy for it. The result applies until the service restarts. */
const PROBE_ATTEMPTS = 3;

/** Finds out which kinds of files can be drawn on this machine, by starting the sandbox once. Never rejects. */
export async function findPrograms(): Promise<FoundPrograms> {
  const all = [...SANDBOX_PROGRAMS, ...Object.values(STILL_PROGRAMS)];
  const installed = await Promise.all(all.map(isInstalled));
  const missing = all.filter((_, index) => !installed[index]);
  const present = STILL_KINDS.filter((kind) => !missing.includes(STILL_PROGRAMS[kind]));
  if (present.length === 0 || SANDBOX_PROGRAMS.some((name) => missing.includes(name))) return { kinds: [], missing };
  let sandboxError: string | undefined;
  for (const protection of PROTECTIONS) {
    sandboxError = await probeSandbox(protection);
    if (sandboxError === undefined) return { kinds: present, missing, protection };
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

async function isInstalled(name: string): Promise<boolean> {
  try {
    await access(join(PROGRAM_FOLDER, name), constants.X_OK);
    return true;
  } catch {
    return false;
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
