import { type FileHandle, open, realpath, rename, rm, stat } from 'node:fs/promises';
import { dirname } from 'node:path';
import { applyEdits, type FormattingOptions, modify } from 'jsonc-parser';
import type { AccessFile } from '../access/access-file.ts';
import { type JsonPath, readAccessFile } from '../access/access-file-syntax.ts';
import { quoted, systemErrorCode } from '../model/error.ts';
import { CommandFailed } from './command.ts';

/** A change of an access file. */
export interface Edit {
  readonly path: JsonPath;
  /** The new value; undefined removes the value. An index of -1 at the end of `path` appends it to a list. */
  readonly value: unknown;
}

/** Permissions of a new access file: only the owner can read it. */
const NEW_FILE_MODE = 0o600;

const NEW_FILE = '{\n  "people": {},\n  "grants": []\n}\n';

export interface EditOptions {
  /** Whether a missing file counts as one without users and grants, which a change creates. */
  readonly create?: true;
}

/** Reads and parses an access file. Throws `AccessFileError` if it is unusable. */
export async function loadAccessFile(file: string, { create }: EditOptions = {}): Promise<AccessFile> {
  // Loaded on demand, because the validator is large and serving without an access file does not need it.
  const { parseAccessFile } = await import('../access/access-file.ts');
  const text = create && (await isMissing(file)) ? NEW_FILE : (await readAccessFile(file)).text;
  return parseAccessFile(text, file);
}

/**
 * Changes an access file atomically, and keeps the rest of its text, its permissions and its owner. `plan` returns the
 * edits for the current content; each one applies to the result of the previous one. Throws `AccessFileError` if the
 * file is invalid before or after the change, and `CommandFailed` if it can't be written. The file is then unchanged.
 *
 * As in git, the new content is written to `FILE.lock` and renamed, so that two commands at a time can't overwrite each
 * other's changes.
 */
export async function editAccessFile(
  file: string,
  plan: (access: AccessFile) => readonly Edit[],
  { create }: EditOptions = {},
): Promise<void> {
  const { parseAccessFile } = await import('../access/access-file.ts');
  // A symbolic link remains a link.
  const target = await realpath(file).catch(() => file);
  const lockFile = `${target}.lock`;
  const lock = await openLock(lockFile, file);
  try {
    const isNew = create && (await isMissing(target));
    const text = isNew ? NEW_FILE : (await readAccessFile(target, file)).text;
    const edits = plan(parseAccessFile(text, file));
    const changed = edits.reduce(applyEdit, text);
    parseAccessFile(changed, file);
    await lock.writeFile(changed);
    if (!isNew) await copyOwnership(target, lock);
    await lock.sync();
    await lock.close();
    await rename(lockFile, target);
    await syncFolder(dirname(target));
  } catch (error) {
    await lock.close().catch(() => {});
    await rm(lockFile, { force: true });
    throw systemErrorCode(error) === undefined ? error : cantChange(file, error);
  }
}

async function openLock(lockFile: string, file: string): Promise<FileHandle> {
  try {
    return await open(lockFile, 'wx', NEW_FILE_MODE);
  } catch (error) {
    if (systemErrorCode(error) !== 'EEXIST') throw cantChange(file, error);
    throw new CommandFailed(
      `Another command is changing ${file}. If none is running, remove the file ${quoted(lockFile)}.`,
    );
  }
}

async function isMissing(path: string): Promise<boolean> {
  try {
    await stat(path);
    return false;
  } catch (error) {
    if (systemErrorCode(error) === 'ENOENT') return true;
    throw error;
  }
}

/** Gives a new file the permissions and the owner of another one, so that the service can still read it. */
async function copyOwnership(from: string, to: FileHandle): Promise<void> {
  const [old, own] = [await stat(from), await to.stat()];
  if (old.uid !== own.uid || old.gid !== own.gid) await to.chown(old.uid, old.gid);
  await to.chmod(old.mode & 0o7777);
}

/** Makes a rename durable. Windows can't open folders. */
async function syncFolder(path: string): Promise<void> {
  if (process.platform === 'win32') return;
  const folder = await open(path, 'r');
  try {
    await folder.sync();
  } finally {
    await folder.close();
  }
}

function cantChange(file: string, error: unknown): CommandFailed {
  const code = systemErrorCode(error);
  return new CommandFailed(`Can't change ${file}: ${(code && WRITE_ERRORS[code]) ?? code ?? String(error)}.`);
}

const WRITE_ERRORS: Readonly<Record<string, string>> = {
  EACCES: 'permission denied. Run the command as the owner of the file and its folder',
  EPERM: 'permission denied. Run the command as the owner of the file and its folder',
  EROFS: 'the file system is read-only',
  ENOENT: 'its folder does not exist',
  ENOSPC: 'the disk is full',
  EDQUOT: 'the disk quota is exhausted',
  EBUSY: "it is a mount point, which can't be replaced. Run the command outside the container",
};

function applyEdit(text: string, { path, value }: Edit): string {
  const isArrayInsertion = path.at(-1) === -1;
  return applyEdits(text, modify(text, [...path], value, { formattingOptions: formattingOf(text), isArrayInsertion }));
}

/** Returns the indentation and the line breaks of a text. */
function formattingOf(text: string): FormattingOptions {
  const [, indent = '  '] = /\n([ \t]+)\S/.exec(text) ?? [];
  const insertSpaces = !indent.startsWith('\t');
  return { insertSpaces, tabSize: insertSpaces ? indent.length : 4, eol: text.includes('\r\n') ? '\r\n' : '\n' };
}
