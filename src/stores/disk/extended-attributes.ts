import { createLimiter } from './syscalls.ts';

/** An open file by its descriptor, or a path. A symbolic link in its last segment is not followed. */
export type AttributeOwner = number | string;

/** The POSIX ACLs as extended attributes: of a file or folder, and the one that a folder gives to new items (acl(5)). */
export const ACCESS_ACL = 'system.posix_acl_access';
export const DEFAULT_ACL = 'system.posix_acl_default';

/**
 * Returns the extended attributes (xattr(7)) that Holdall keeps, by their names: those of users, security labels, and POSIX
 * ACLs. Like the three functions below, never rejects: on systems without extended attributes there are none.
 */
export async function readAttributes(owner: AttributeOwner): Promise<ReadonlyMap<string, Buffer>> {
  const calls = await loadCalls();
  const found = new Map<string, Buffer>();
  const names = calls && (await readAll((buffer, size) => calls.list(owner, buffer, size)));
  for (const name of names?.toString().split('\0') ?? []) {
    const value = isKept(name) ? await readAttribute(owner, name) : undefined;
    if (value) found.set(name, value);
  }
  return found;
}

/** Returns the value of an extended attribute; undefined if it does not exist. */
export async function readAttribute(owner: AttributeOwner, name: string): Promise<Buffer | undefined> {
  const calls = await loadCalls();
  return calls && readAll((buffer, size) => calls.get(owner, name, buffer, size));
}

/** Sets an extended attribute. Returns whether the process is permitted to, and the file system supports it. */
export async function writeAttribute(path: string, name: string, value: Buffer): Promise<boolean> {
  const calls = await loadCalls();
  return calls !== undefined && (await calls.set(path, name, value)) === 0;
}

/** Removes an extended attribute, if it exists. */
export async function removeAttribute(path: string, name: string): Promise<void> {
  const calls = await loadCalls();
  await calls?.remove(path, name);
}

/** Returns whether extended attributes can be read and written on this system. */
export const hasAttributes = async (): Promise<boolean> => (await loadCalls()) !== undefined;

/**
 * Returns whether another file keeps an attribute. A capability and signatures belong to the content, which changes: Linux
 * removes a capability with each write, too.
 */
const isKept = (name: string) =>
  name === ACCESS_ACL ||
  name === DEFAULT_ACL ||
  name.startsWith('user.') ||
  (name.startsWith('security.') && !/^security\.(?:capability|evm|ima)$/.test(name));

/** Calls twice: without a buffer, for the size, which is 0 for most files. Returns undefined if there is nothing. */
async function readAll(read: (buffer: Buffer | null, size: number) => Promise<number>): Promise<Buffer | undefined> {
  const size = await read(null, 0);
  if (size < 0) return undefined;
  const buffer = Buffer.alloc(size);
  const filled = size === 0 ? 0 : await read(buffer, size);
  return filled < 0 ? undefined : buffer.subarray(0, filled);
}

interface Calls {
  list(owner: AttributeOwner, buffer: Buffer | null, size: number): Promise<number>;
  get(owner: AttributeOwner, name: string, buffer: Buffer | null, size: number): Promise<number>;
  set(path: string, name: string, value: Buffer): Promise<number>;
  remove(path: string, name: string): Promise<number>;
}

let loading: Promise<Calls | undefined> | undefined;

/** Returns the functions of the C library; undefined on systems without them. */
function loadCalls(): Promise<Calls | undefined> {
  loading ??= process.platform === 'linux' ? bindCalls().catch(() => undefined) : Promise.resolve(undefined);
  return loading;
}

type Argument = string | number | Buffer | null;

/** What is used of koffi's packages for one platform. Unlike the package `koffi`, they have no install script, and no types. */
interface Koffi {
  load(library: null): {
    func(declaration: string): {
      async(...args: readonly [...Argument[], (error: unknown, result: number) => void]): void;
    };
  };
}

/** Calls at a time: half of libuv's threads by default, so that a slow disk leaves some for other calls. */
const CALL_CONCURRENCY = 2;

async function bindCalls(): Promise<Calls> {
  // Loaded with the first file that is written. Optional: there are packages for x64 and arm64.
  const { default: koffi } = (await import(`@koromix/koffi-linux-${process.arch}`)) as { default: Koffi };
  // The program itself, which is linked to its C library: glibc or musl.
  const library = koffi.load(null);
  const limit = createLimiter(CALL_CONCURRENCY);
  // koffi refers only to the memory of buffers, so these must exist until the call ends.
  const inProgress = new Set<readonly Argument[]>();
  const bind = (declaration: string) => {
    const native = library.func(declaration);
    return (...args: readonly Argument[]) =>
      limit(async () => {
        inProgress.add(args);
        try {
          return await new Promise<number>((resolve, reject) => {
            native.async(...args, (error: unknown, result: number) => (error ? reject(error) : resolve(result)));
          });
        } finally {
          inProgress.delete(args);
        }
      });
  };
  const [list, listOpen] = [
    bind('long llistxattr(str path, void *list, size_t size)'),
    bind('long flistxattr(int fd, void *list, size_t size)'),
  ];
  const [get, getOpen] = [
    bind('long lgetxattr(str path, str name, void *value, size_t size)'),
    bind('long fgetxattr(int fd, str name, void *value, size_t size)'),
  ];
  const set = bind('int lsetxattr(str path, str name, void *value, size_t size, int flags)');
  return {
    list: (owner, ...rest) => (typeof owner === 'string' ? list : listOpen)(owner, ...rest),
    get: (owner, ...rest) => (typeof owner === 'string' ? get : getOpen)(owner, ...rest),
    set: (path, name, value) => set(path, name, value, value.length, 0),
    remove: bind('int lremovexattr(str path, str name)'),
  };
}
