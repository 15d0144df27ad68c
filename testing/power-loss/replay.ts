import {
  createFile,
  createFolder,
  type Location,
  nodeAt,
  resize,
  type SimulatedDisk,
  type SimulatedNode,
  writeAt,
} from './simulated-disk.ts';
import { bytesOf, type CallEvent, descriptorsIn, stringsIn } from './strace.ts';

/** What happened to the disk or to a client. */
export type ReplayEvent =
  /** A file or folder was changed or became durable. */
  | { readonly type: 'disk' }
  /** The program began to send an HTTP response. */
  | { readonly type: 'response'; readonly head: string };

interface OpenFile {
  readonly node: SimulatedNode;
  readonly isAppending: boolean;
  /** Whether each write is durable when it returns (`O_SYNC`, `O_DSYNC`). */
  readonly isSynced: boolean;
  position: number;
}

const DISK: ReplayEvent = { type: 'disk' };

/**
 * Repeats the recorded system calls of one process on a simulated disk, whose root is the folder `root`: an absolute path
 * without symbolic links, which was empty when the recording began. Ignores all other files.
 *
 * A call takes effect when it has ended, and a sync covers the effects before its beginning. Throws an error if a call
 * changes a file in a way that is not simulated, such as a writable memory map.
 */
export class Replay {
  readonly #disk: SimulatedDisk;
  readonly #root: string;
  readonly #files = new Map<number, OpenFile>();
  /** The syncs in progress, by thread. */
  readonly #syncs = new Map<number, () => void>();
  #hasStarted = false;

  constructor(disk: SimulatedDisk, root: string) {
    this.#disk = disk;
    this.#root = root;
  }

  /** Repeats a call. Returns what happened; undefined if nothing did. */
  apply(event: CallEvent): ReplayEvent | undefined {
    const { phase, name, args } = event;
    if (phase === 'begin') {
      if (name === 'close') this.#close(args);
      if (name === 'fsync' || name === 'fdatasync') this.#beginSync(event);
      return isWrite(name) ? this.#responseIn(args) : undefined;
    }
    if (name === 'execve') this.#start();
    if (event.result < 0) return void this.#syncs.delete(event.thread);
    return this.#applyEnded(event) ? DISK : undefined;
  }

  /** Repeats a call that has succeeded. Returns whether it changed the disk. */
  #applyEnded({ name, args, result, thread }: CallEvent): boolean {
    switch (name) {
      case 'open':
      case 'openat':
      case 'openat2':
      case 'creat':
        return this.#open(args, result, name === 'creat');
      case 'mkdir':
      case 'mkdirat':
        return this.#create(this.#targetsIn(args)[0], createFolder());
      case 'rename':
      case 'renameat':
      case 'renameat2':
        return this.#rename(args);
      case 'link':
      case 'linkat':
        return this.#link(args);
      case 'unlink':
      case 'unlinkat':
      case 'rmdir':
        return this.#remove(args);
      case 'write':
      case 'writev':
      case 'pwrite64':
      case 'pwritev':
      case 'pwritev2':
        return this.#write(name, args, result);
      case 'truncate':
      case 'ftruncate':
        return this.#truncate(args);
      case 'copy_file_range':
      case 'sendfile':
        return this.#copyRange(name, args, result);
      case 'ioctl':
        return this.#clone(args);
      case 'fsync':
      case 'fdatasync':
        return this.#endSync(thread);
      case 'mmap':
        return this.#map(args);
      case 'symlink':
      case 'symlinkat':
        return this.#rejectPaths(name, args);
      case 'fallocate':
      case 'splice':
      case 'dup':
      case 'dup2':
      case 'dup3':
      case 'syncfs':
      case 'sync_file_range':
        return this.#rejectFiles(name, args);
      default:
        return false;
    }
  }

  #start(): void {
    if (this.#hasStarted) throw new Error('The recorded process started another program.');
    this.#hasStarted = true;
  }

  #responseIn(args: string): ReplayEvent | undefined {
    const [target] = descriptorsIn(args);
    if (!target?.path.startsWith('socket:')) return undefined;
    const [head = ''] = Buffer.concat(stringsIn(args)).toString('latin1').split('\r\n\r\n', 1);
    return head.startsWith('HTTP/1.1 ') ? { type: 'response', head } : undefined;
  }

  #open(args: string, fd: number, isNew: boolean): boolean {
    const [target] = this.#targetsIn(args);
    if (!target) return false;
    let isChanged = false;
    let node = find(target);
    if (!node) {
      if (!isNew && !args.includes('O_CREAT')) throw new Error(`The open file was never created: openat(${args})`);
      node = createFile();
      this.#disk.create(locate(target), node);
      isChanged = true;
    }
    if (node.kind === 'file' && (isNew || args.includes('O_TRUNC')) && node.content.length > 0) {
      resize(node, 0);
      isChanged = true;
    }
    const isSynced = /O_D?SYNC/.test(args);
    this.#files.set(fd, { node, isAppending: args.includes('O_APPEND'), isSynced, position: 0 });
    return isChanged;
  }

  #close(args: string): void {
    const [fd] = /^\d+/.exec(args) ?? [];
    this.#files.delete(Number(fd));
  }

  #create(target: Target | undefined, node: SimulatedNode): boolean {
    if (!target) return false;
    this.#disk.create(locate(target), node);
    return true;
  }

  #rename(args: string): boolean {
    if (args.includes('RENAME_EXCHANGE')) return this.#rejectPaths('renameat2', args);
    const [from, to] = this.#targetsIn(args);
    if (!from || !to) return this.#rejectPaths('rename', args);
    this.#disk.rename(locate(from), locate(to));
    return true;
  }

  #link(args: string): boolean {
    const [from, to] = this.#targetsIn(args);
    if (!from || !to) return this.#rejectPaths('link', args);
    this.#disk.link(nodeAt(locate(from)), locate(to));
    return true;
  }

  #remove(args: string): boolean {
    const [target] = this.#targetsIn(args);
    if (!target) return false;
    this.#disk.remove(locate(target));
    return true;
  }

  #write(name: string, args: string, result: number): boolean {
    const open = this.#openFileIn(args);
    if (open?.node.kind !== 'file') return false;
    const bytes = Buffer.concat(stringsIn(args)).subarray(0, result);
    const isPositioned = name.startsWith('p');
    const [, offset] = (name === 'pwritev2' ? /, (\d+), [^,]*$/ : /, (\d+)$/).exec(args) ?? [];
    const position = isPositioned ? Number(offset) : open.isAppending ? open.node.content.length : open.position;
    writeAt(open.node, bytes, position);
    if (!isPositioned) open.position = position + result;
    if (open.isSynced) this.#disk.beginSync(open.node)();
    return true;
  }

  #truncate(args: string): boolean {
    const [target] = this.#targetsIn(args);
    const node = target ? find(target) : this.#openFileIn(args)?.node;
    if (node?.kind !== 'file') return false;
    resize(node, Number(/, (\d+)$/.exec(args)?.[1]));
    return true;
  }

  #copyRange(name: string, args: string, result: number): boolean {
    const [first, second] = descriptorsIn(args).map(({ fd }) => this.#files.get(fd));
    const [source, target] = name === 'sendfile' ? [second, first] : [first, second];
    if (target?.node.kind !== 'file') return false;
    const [, offset] = /\[(\d+)\]/.exec(args) ?? [];
    if (source?.node.kind !== 'file' || offset === undefined) throw new Error(`Not simulated: ${name}(${args})`);
    const bytes = source.node.content.subarray(Number(offset), Number(offset) + result);
    writeAt(target.node, bytes, target.position);
    target.position += result;
    return true;
  }

  #clone(args: string): boolean {
    const target = args.includes('FICLONE,') ? this.#openFileIn(args) : undefined;
    if (target?.node.kind !== 'file') return false;
    const source = this.#files.get(Number(/FICLONE, (\d+)/.exec(args)?.[1]));
    if (source?.node.kind !== 'file') throw new Error(`Not simulated: ioctl(${args})`);
    target.node.content = source.node.content;
    return true;
  }

  #beginSync({ args, thread }: CallEvent): void {
    const open = this.#openFileIn(args);
    if (open) this.#syncs.set(thread, this.#disk.beginSync(open.node));
  }

  #endSync(thread: number): boolean {
    const end = this.#syncs.get(thread);
    end?.();
    return this.#syncs.delete(thread);
  }

  /** The index of the WAL of SQLite is the only writable map. It is not durable: SQLite creates it again from the WAL. */
  #map(args: string): boolean {
    const isWritable = args.includes('MAP_SHARED') && args.includes('PROT_WRITE');
    const [file] = isWritable ? descriptorsIn(args) : [];
    return file && !file.path.endsWith('-shm') ? this.#rejectFiles('mmap', args) : false;
  }

  #rejectFiles(name: string, args: string): boolean {
    if (descriptorsIn(args).some(({ path }) => this.#isInside(path)))
      throw new Error(`Not simulated: ${name}(${args})`);
    return false;
  }

  #rejectPaths(name: string, args: string): boolean {
    if (this.#targetsIn(args).some((target) => target)) throw new Error(`Not simulated: ${name}(${args})`);
    return false;
  }

  /** Returns the open file of the first descriptor; undefined if it is outside of the root. */
  #openFileIn(args: string): OpenFile | undefined {
    const [first] = descriptorsIn(args);
    const open = first && this.#files.get(first.fd);
    if (!open && first && this.#isInside(first.path)) throw new Error(`Unknown descriptor: ${first.fd} ${first.path}`);
    return open;
  }

  /** Returns the paths in the arguments; undefined for those outside of the root. */
  #targetsIn(args: string): (Target | undefined)[] {
    return Array.from(args.matchAll(PATH), ([, fd, hex = '', quoted = '']) => {
      const path = String(stringsIn(quoted)[0]);
      const [, opened, rest = ''] = /^\/proc\/self\/fd\/(\d+)(\/.*)?$/s.exec(path) ?? [];
      if (opened !== undefined) return this.#below(Number(opened), rest);
      if (path.startsWith('/') || fd === undefined) return this.#inside(path);
      return fd === 'AT_FDCWD' ? this.#inside(`${bytesOf(hex).toString()}/${path}`) : this.#below(Number(fd), path);
    });
  }

  #below(fd: number, path: string): Target | undefined {
    const open = this.#files.get(fd);
    return open && { base: open.node, segments: segmentsOf(path) };
  }

  #inside(path: string): Target | undefined {
    if (!this.#isInside(path)) return undefined;
    return { base: this.#disk.root, segments: segmentsOf(path.slice(this.#root.length)) };
  }

  #isInside(path: string): boolean {
    return path === this.#root || path.startsWith(`${this.#root}/`);
  }
}

/** A path, relative to a folder. Without segments, the folder itself, or an open file. */
interface Target {
  readonly base: SimulatedNode;
  readonly segments: readonly string[];
}

/** A path, with the folder that it can be relative to: `FD<FOLDER>, "PATH"`. */
const PATH = /(?:(AT_FDCWD|\d+)<((?:\\x[\da-f]{2})*)>(?:\(deleted\))?, )?("(?:\\x[\da-f]{2})*")/g;

const segmentsOf = (path: string): string[] => path.split('/').filter((segment) => segment !== '' && segment !== '.');

function find({ base, segments }: Target): SimulatedNode | undefined {
  let node: SimulatedNode | undefined = base;
  for (const segment of segments) node = node?.kind === 'folder' ? node.names.get(segment) : undefined;
  return node;
}

function locate({ base, segments }: Target): Location {
  const folder = find({ base, segments: segments.slice(0, -1) });
  const name = segments.at(-1);
  if (folder?.kind !== 'folder' || name === undefined)
    throw new Error(`The simulated disk has no ${segments.join('/')}.`);
  return { folder, name };
}

const isWrite = (name: string): boolean => WRITES.has(name);

const WRITES = new Set(['write', 'writev', 'sendto', 'sendmsg']);
