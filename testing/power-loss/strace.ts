/** The beginning or the end of a system call. */
export interface CallEvent {
  readonly phase: 'begin' | 'end';
  /** Id of the thread. */
  readonly thread: number;
  readonly name: string;
  /** The arguments as strace prints them. After the end, they include what the system returned in them. */
  readonly args: string;
  /** The returned number, or -1 after an error. At the beginning: 0. */
  readonly result: number;
}

/** A file descriptor with the path that it had during the call. */
export interface Descriptor {
  readonly fd: number;
  readonly path: string;
}

/** The system calls that change files, make them durable, or send data. `?` accepts calls that a platform lacks. */
const CALLS = `
  open openat openat2 creat close dup dup2 dup3 execve mmap ioctl
  mkdir mkdirat rename renameat renameat2 link linkat symlink symlinkat unlink unlinkat rmdir
  truncate ftruncate fallocate splice write pwrite64 writev pwritev pwritev2 sendfile sendto sendmsg copy_file_range
  fsync fdatasync sync syncfs sync_file_range msync`
  .trim()
  .split(/\s+/);

/** Maximum bytes of a string that strace records. */
const MAX_STRING_BYTES = 1024 * 1024;

/** Returns the command that runs a program and records its system calls in a file. */
export function straceCommand(recording: string, program: string): [string, ...string[]] {
  const trace = `trace=${CALLS.map((call) => `?${call}`).join()}`;
  const format = ['-f', '-qq', '-xx', '-y', '-s', String(MAX_STRING_BYTES), '-e', 'signal=none'];
  return ['strace', '--seccomp-bpf', ...format, '-e', trace, '-o', recording, program];
}

/** `THREAD NAME(ARGUMENTS) = RESULT`; also in two lines, if other threads made calls meanwhile. */
const LINE = /^(\d+) +(?:<\.\.\. )?(\w+)(?:\((.*)| resumed>(.*))$/s;
const RESULT = /^(.*)\) += (-?\d+|0x[\da-f]+|\?)([^=]*)$/s;
const UNFINISHED = ' <unfinished ...>';

/** Parses a recording. */
export function* parseCalls(recording: string): Generator<CallEvent> {
  const unfinished = new Map<number, string>();
  for (const line of recording.split('\n')) {
    const [, id, name, started, resumed] = LINE.exec(line) ?? [];
    // Other lines are signals and the ends of processes.
    if (name === undefined) continue;
    const thread = Number(id);
    if (started !== undefined) {
      const isUnfinished = started.endsWith(UNFINISHED);
      const args = isUnfinished ? started.slice(0, -UNFINISHED.length) : (RESULT.exec(started)?.[1] ?? started);
      yield { phase: 'begin', thread, name, args, result: 0 };
      if (isUnfinished) {
        unfinished.set(thread, args);
        continue;
      }
    }
    const text = resumed === undefined ? started : (unfinished.get(thread) ?? '') + resumed;
    unfinished.delete(thread);
    const [, args, result] = RESULT.exec(text ?? '') ?? [];
    // A call without a result did not end before its process.
    if (args === undefined || result === '?') continue;
    yield { phase: 'end', thread, name, args, result: Number(result) };
  }
}

const STRING = /"((?:\\x[\da-f]{2})*)"(\.\.\.)?/g;

/** Returns the strings in the arguments. */
export function stringsIn(args: string): Buffer[] {
  return Array.from(args.matchAll(STRING), ([, hex = '', isTruncated]) => {
    if (isTruncated) throw new Error(`A string of more than ${MAX_STRING_BYTES} bytes was recorded in part.`);
    return bytesOf(hex);
  });
}

/** Returns the file descriptors in the arguments, without `AT_FDCWD`. */
export function descriptorsIn(args: string): Descriptor[] {
  return Array.from(args.matchAll(/(?:^|[ {[])(\d+)<((?:\\x[\da-f]{2})*)>/g), ([, fd, hex = '']) => ({
    fd: Number(fd),
    path: bytesOf(hex).toString(),
  }));
}

/** Decodes the bytes that strace prints as `\\xHH`. */
export const bytesOf = (hex: string): Buffer => Buffer.from(hex.replaceAll('\\x', ''), 'hex');
