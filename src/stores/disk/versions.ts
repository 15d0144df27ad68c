import type { BigIntStats } from 'node:fs';
import { link, lstat, readdir, rename, rm, rmdir, unlink } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { createKeyedMutex } from '../../concurrency/keyed-mutex.ts';
import { systemErrorCode } from '../../model/error.ts';
import { type KeptId, newKeptId, timeOfKeptId } from '../../model/kept-ids.ts';
import { pageOfIds } from '../../model/page.ts';
import { type FilePath, nameOf } from '../../model/path.ts';
import type { FileVersion, Keep, VersionListing } from '../../model/store.ts';
import { requireCondition, versionNotFound } from '../../model/store-errors.ts';
import { findFile } from './atomic-rename.ts';
import type { Folder } from './folder.ts';
import { copyOpenFile, dateOf, entryOf } from './metadata.ts';
import { areLinksRefused } from './recovery.ts';
import type { OpenFile, Root } from './root.ts';
import type { Temporary } from './temporary.ts';
import { formatClaimName, formatVersionName, historyOf, parseClaimName, parseVersionName } from './version-names.ts';

/** A file that is about to be replaced, in its open parent folder. */
export interface Replaceable {
  readonly file: FilePath;
  readonly folder: Folder;
}

/** The two ways to put the new content at the path. */
export interface Placement {
  /** Renames the new content over the old one. */
  replace(): Promise<void> | void;
  /** Gives the new content its name. Rejects with EEXIST if the name is taken. */
  create(): Promise<void>;
}

/** Maximum milliseconds between the two steps of a replacement, and between attempts while another process is at it. */
const MAX_REPLACE_DURATION_MS = 2000;
const POLL_INTERVAL_MS = 5;

/**
 * Milliseconds after which a claim on the current file is void. Until then its process could have been paused, and
 * replace the file when it continues.
 */
const VOID_AFTER_MS = 60 * 60 * 1000;

/** Maximum attempts to claim a file while other processes remove the folder of its versions. */
const MAX_CLAIM_ATTEMPTS = 20;

/**
 * The folder `.holdall/versions`. A version is a second name (hard link) of the file that was replaced, so keeping it
 * copies no bytes. It is a copy, with shared blocks if possible, where the file system refuses hard links, and of a file
 * that has other hard links.
 *
 * A replacement takes three steps: it creates the second name as a claim, renames the new file over the old one, and
 * renames the claim to a version. The name of a claim depends on the inode, so two processes never replace one content:
 * the second one waits and then replaces the content of the first. After an interruption, a claim on the current file
 * is void, and any other claim is a version. If another request moves the file away between two of the steps, for
 * example to the trash, its content exists there and as a version. If another process also writes a new file to the path
 * between two of the steps, a millisecond at most, that file is replaced without a version.
 *
 * A replacement on the condition of an ETag checks it while it has the claim, so of several with the same ETag, in any
 * process, one succeeds. Without a version to keep, it removes the claim at its end. Where the file system refuses hard
 * links, only the replacements of one process exclude each other.
 */
export class DiskVersions {
  readonly #root: Root;
  readonly #temporary: Temporary;
  readonly #versions: string;
  readonly #mutex = createKeyedMutex();

  /** `versions` is the absolute path of the folder. */
  constructor(root: Root, temporary: Temporary, versions: string) {
    this.#root = root;
    this.#temporary = temporary;
    this.#versions = versions;
  }

  /** Runs `task` while no replacement of the file is in progress in this process. */
  async exclusively<Result>(file: FilePath, task: () => Promise<Result>): Promise<Result> {
    return this.#mutex.run(this.#root.names.certain(file), task);
  }

  /**
   * Puts new content at the path of a file, and keeps the old content as a version if `keep` is set. Resolves to a
   * function that makes the version durable. Throws `file-changed` unless the file has the ETag `etag`, if that is set.
   */
  async replace(
    { file, folder }: Replaceable,
    { keep, etag }: { readonly keep?: Keep | undefined; readonly etag?: string | undefined },
    placement: Placement,
  ): Promise<() => Promise<void>> {
    const findMatching = async () => {
      const found = await findFile(folder, file);
      if (etag !== undefined) requireCondition(file, found && entryOf(file, found), { etag });
      return found;
    };
    return this.exclusively(file, async () => {
      for (;;) {
        const present = await findMatching();
        if (!present) {
          await folder.requireInPlace();
          if (await created(placement)) return async () => {};
          continue;
        }
        const claim = await this.#claim({ file, folder }, present, keep);
        // Another process replaced or removed the file meanwhile.
        if (claim === undefined) continue;
        try {
          await folder.requireInPlace();
          await findMatching();
          await placement.replace();
        } catch (error) {
          await this.#release(file, claim);
          throw error;
        }
        if (!keep) {
          await this.#release(file, claim);
          return async () => {};
        }
        await this.#finish(file, claim, keep);
        return () => this.#root.syncOwnFolder(historyOf(this.#versions, file));
      }
    });
  }

  /** Fulfils the contract of `Store.listVersions`. */
  async list(file: FilePath, options: { cursor?: string; limit?: number }): Promise<VersionListing> {
    const history = historyOf(this.#versions, file);
    const found = new Map<KeptId, { readonly name: string; readonly user?: string }>();
    for (const name of await this.#namesIn(file)) {
      const parsed = parseVersionName(name);
      if (parsed) found.set(parsed.id, { name, ...(parsed.user !== undefined && { user: parsed.user }) });
    }
    const { ids, cursor } = pageOfIds([...found.keys()].toSorted(), options);
    const load = async (id: KeptId): Promise<FileVersion | undefined> => {
      const { name = '', user } = found.get(id) ?? {};
      const stats = await lstat(join(history, name), { bigint: true }).catch(ignoreMissing);
      const replacedAt = timeOfKeptId(id);
      if (!stats?.isFile() || !replacedAt) return undefined;
      const [size, modified] = [Number(stats.size), dateOf(stats.mtimeNs)];
      return { id, size, modified, replacedAt, ...(user !== undefined && { replacedBy: user }) };
    };
    const versions = (await Promise.all(ids.map(load))).filter((version) => version !== undefined);
    return { versions, ...(cursor !== undefined && { cursor }) };
  }

  /** Opens the content of a version. The caller must close it. */
  async open(file: FilePath, id: KeptId): Promise<OpenFile> {
    const names = timeOfKeptId(id) ? await this.#namesIn(file) : [];
    const name = names.find((each) => parseVersionName(each)?.id === id);
    const opened = name && (await this.#root.openOwnFile(join(historyOf(this.#versions, file), name)));
    if (!opened) throw versionNotFound(file, id);
    return opened;
  }

  /**
   * Completes the replacements that were interrupted after the new file had arrived, and voids those that were
   * interrupted before.
   */
  async finishInterrupted(file: FilePath, names: readonly string[]): Promise<void> {
    const history = historyOf(this.#versions, file);
    const current = await lstat(join(this.#root.path, file), { bigint: true }).catch(() => undefined);
    for (const name of names) {
      const inode = parseClaimName(name);
      const stats =
        inode === undefined ? undefined : await lstat(join(history, name), { bigint: true }).catch(ignoreMissing);
      // The change of its names set `ctime`, so an older claim is not in progress.
      if (!stats || Date.now() - Number(stats.ctimeMs) < MAX_REPLACE_DURATION_MS) continue;
      const isCurrent = inode === current?.ino.toString(36);
      if (isCurrent) {
        const isVoid = Date.now() - Number(stats.ctimeMs) > VOID_AFTER_MS;
        if (isVoid) await unlink(join(history, name)).catch(ignoreMissing);
      } else {
        const version = formatVersionName(newKeptId(Number(stats.ctimeMs)), undefined);
        await rename(join(history, name), join(history, version)).catch(ignoreMissing);
      }
    }
  }

  /** Returns the names in the folder of a file's versions. */
  async #namesIn(file: FilePath): Promise<readonly string[]> {
    const history = historyOf(this.#versions, file);
    await this.#root.requireOwnFolder(history);
    const read = () => readdir(history).catch((error: unknown) => this.#emptyIfMissing(error));
    const names = await read();
    if (!names.some((name) => parseClaimName(name) !== undefined)) return names;
    await this.finishInterrupted(file, names);
    return read();
  }

  async #emptyIfMissing(error: unknown): Promise<readonly string[]> {
    ignoreMissing(error);
    // The folder is missing until a file is replaced. On an unmounted disk it must not look empty.
    await this.#root.requireSame();
    return [];
  }

  /**
   * Creates the second name of the file `present` and returns its absolute path; undefined if another process replaced
   * the file meanwhile. The path of a claim that is not needed, because the file system refuses links and `keep` is
   * missing, does not exist.
   */
  async #claim(
    { file, folder }: Replaceable,
    present: BigIntStats,
    keep: Keep | undefined,
  ): Promise<string | undefined> {
    const history = historyOf(this.#versions, file);
    await this.#root.requireOwnFolder(history);
    const path = join(history, formatClaimName(present.ino));
    const isPresent = async () => (await folder.find(nameOf(file)))?.ino === present.ino;
    const deadline = performance.now() + MAX_REPLACE_DURATION_MS;
    for (let attempt = 1; ; ) {
      try {
        await link(folder.at(nameOf(file)), path);
        break;
      } catch (error) {
        const code = systemErrorCode(error) ?? '';
        // The path of a version is longer than that of its file.
        if (areLinksRefused(error) || code === 'EXDEV' || code === 'ENAMETOOLONG')
          return keep ? this.#claimCopy(file, path) : path;
        if (code !== 'ENOENT' && code !== 'EEXIST') throw error;
        if (!(await isPresent())) return undefined;
        if (code === 'ENOENT') {
          if (attempt++ === MAX_CLAIM_ATTEMPTS) throw error;
          await this.#makeHistory(file);
          // The process that created this claim has ended. Its claim serves as ours.
        } else if (performance.now() > deadline) break;
        else await delay(POLL_INTERVAL_MS);
      }
    }
    const claimed = await lstat(path, { bigint: true }).catch(ignoreMissing);
    if (claimed?.ino === present.ino) {
      if (!keep || present.nlink === 1n) return path;
      // A program that writes in place through another hard link would change the version.
      await this.#claimCopy(file, path);
      if (await isPresent()) return path;
    }
    // The file was replaced before the link was created.
    if (claimed) await rm(path, { force: true });
    return undefined;
  }

  /** Copies the file to a claim. On file systems without hard links, processes don't wait for each other then. */
  async #claimCopy(file: FilePath, path: string): Promise<string> {
    const copy = await this.#temporary.name();
    try {
      await using source = await this.#root.openFile(file);
      await copyOpenFile(source, copy);
      await this.#makeHistory(file);
      await rename(copy, path);
      return path;
    } finally {
      await rm(copy, { force: true });
    }
  }

  /** Removes a claim, and the folder of the file's versions if it is empty. */
  async #release(file: FilePath, claim: string): Promise<void> {
    await rm(claim, { force: true }).catch(ignoreMissing);
    // It has versions, or another process has removed it or claims the file.
    await rmdir(historyOf(this.#versions, file)).catch(() => {});
  }

  /** Turns a claim into a version. */
  async #finish(file: FilePath, claim: string, keep: Keep): Promise<void> {
    const id = newKeptId();
    const version = join(historyOf(this.#versions, file), formatVersionName(id, keep.user));
    try {
      await rename(claim, version);
    } catch (error) {
      // Another process took this one for ended, and completed the replacement.
      return ignoreMissing(error);
    }
    keep.onKept?.(id);
  }

  async #makeHistory(file: FilePath): Promise<void> {
    await this.#root.makeOwnFolder(historyOf(this.#versions, file));
  }
}

/** Creates a file. Returns false if another process has created it first. */
async function created(placement: Placement): Promise<boolean> {
  try {
    await placement.create();
    return true;
  } catch (error) {
    if (systemErrorCode(error) === 'EEXIST') return false;
    throw error;
  }
}

function ignoreMissing(error: unknown): undefined {
  const code = systemErrorCode(error);
  if (code === 'ENOENT' || code === 'ENOTDIR' || code === 'ENAMETOOLONG') return undefined;
  throw error;
}
