import { type FileHandle, open } from 'node:fs/promises';
import { AccessFileError, mistakesIn, unreadable } from './access-file-error.ts';

/** Files of this size take a second or so to read; who has more people asks a provider for them. */
const MAX_ACCESS_FILE_BYTES = 10 * 2 ** 20;

/** The text of a file, and what tells whether it is still the same. */
export interface AccessFileText {
  readonly text: string;
  /** What `versionOf` gives for the file that was read. */
  readonly version: string;
  /** Whether the file was changed so lately that it could be once more with its times staying what they are. */
  readonly isFresh: boolean;
}

/**
 * Reads an access file. Throws `AccessFileError` when it can't be read, or is too large or no UTF-8; `name` is what its
 * message calls the file.
 */
export async function readAccessFile(path: string, name = path): Promise<AccessFileText> {
  try {
    const handle = await open(path, 'r');
    try {
      return await readFrom(handle, name);
    } finally {
      await handle.close();
    }
  } catch (error) {
    throw error instanceof AccessFileError ? error : unreadable(name, reasonOf(error));
  }
}

async function readFrom(handle: FileHandle, name: string): Promise<AccessFileText> {
  // Before the bytes, so that a change while they are read shows at the next look.
  const stat = await handle.stat({ bigint: true });
  if (!stat.isFile()) throw unreadable(name, 'it is not a file');
  if (stat.size > MAX_ACCESS_FILE_BYTES) throw tooLarge(name);
  const bytes = await handle.readFile();
  if (bytes.length > MAX_ACCESS_FILE_BYTES) throw tooLarge(name);
  try {
    const text = new TextDecoder('utf-8', { fatal: true }).decode(bytes);
    return { text, version: versionOf(stat), isFresh: Math.abs(Date.now() - Number(stat.ctimeMs)) < COARSEST_CLOCK };
  } catch (error) {
    if (error instanceof TypeError) throw mistakesIn(name, ['line 1, column 1: is not UTF-8.']);
    throw error;
  }
}

/** Milliseconds: file systems keep times to two seconds in the worst case. */
const COARSEST_CLOCK = 3000;

interface Stat {
  readonly dev: bigint;
  readonly ino: bigint;
  readonly size: bigint;
  readonly mtimeNs: bigint;
  readonly ctimeNs: bigint;
}

/** Another text for every file that takes the place of one, and for every change of its bytes. */
export function versionOf({ dev, ino, size, mtimeNs, ctimeNs }: Stat): string {
  return [dev, ino, size, mtimeNs, ctimeNs].join(' ');
}

/** Why a file can't be read, in words. */
function reasonOf(error: unknown): string {
  const code = error instanceof Error && 'code' in error ? String(error.code) : '';
  return REASONS[code] ?? (error instanceof Error ? error.message : String(error));
}

const REASONS: Readonly<Record<string, string>> = {
  ENOENT: 'there is no such file',
  ENOTDIR: 'there is no such file',
  EACCES: 'the service is not allowed to',
  EPERM: 'the service is not allowed to',
  EISDIR: 'it is a folder',
  ELOOP: 'its links lead in a circle',
};

function tooLarge(name: string): AccessFileError {
  return mistakesIn(name, [`line 1, column 1: is larger than ${MAX_ACCESS_FILE_BYTES / 2 ** 20} MiB.`]);
}
