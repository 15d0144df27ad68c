import { type FileHandle, mkdtemp, open, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { addAbortSignal } from 'node:stream';
import type { Files } from '../files/files.ts';
import { mediaTypeOf, UNKNOWN_TYPE } from '../model/presentation.ts';
import type { FileEntry } from '../model/store.ts';
import { recyclerOf } from '../streams/chunk-recycling.ts';
import { RenderError, type RenderLimits } from './errors.ts';
import { MAX_RENDITION_BYTES } from './limits.ts';
import { STILL_PROGRAMS, type StillKind } from './programs.ts';
import { readTimedOut, sizeMismatch, startProcess } from './render.ts';
import { SANDBOX_INPUT, SANDBOX_OUTPUT, type SandboxProtection, sandboxed } from './sandbox.ts';
import { isShortage } from './shortage.ts';

/*
 * Still images of files that libvips can't draw: a frame of a video, the first page of a PDF, and a HEIC image. Another
 * program draws them as a JPEG, which is then drawn like any image.
 */

/**
 * Returns the kind of a file by its media type, or by its name if it has none; undefined for a file that may be an image.
 * `video/mp2t` is usually TypeScript. HEIC is an image without a program of `drawn`: some builds of libvips draw it.
 */
export function stillKindOf({ path, type }: FileEntry, drawn: readonly StillKind[]): StillKind | undefined {
  const mediaType = type.startsWith(UNKNOWN_TYPE) ? mediaTypeOf(path) : type;
  if (/^application\/pdf(?![\w+.-])/i.test(mediaType)) return 'pdf';
  if (drawn.includes('heic') && /^image\/hei[cf](?![\w+.])/i.test(mediaType)) return 'heic';
  return /^video\/(?!mp2t)/i.test(mediaType) ? 'video' : undefined;
}

/**
 * The parts of a video that are read. The index of an MP4 is at its start or its end, and the frame near the start.
 * Everything in between is a hole in the input of the program.
 */
const VIDEO_HEAD_BYTES = 16 * 1024 * 1024;
const VIDEO_TAIL_BYTES = 8 * 1024 * 1024;

/** The longest side of a still, in pixels: the width of the largest preview. */
const STILL_SIZE = 2560;

/** Seconds into the video of its frame: after the first one, which is often black. Shorter videos have the first one. */
const FRAME_SECONDS = [2, 0];

/** Bytes of address space for the libraries and threads of a program, in addition to what it allocates. */
const LIBRARY_BYTES = 512 * 1024 * 1024;

/** The limits apply to the program. That of its memory does not include its libraries. */
export interface StillOptions extends RenderLimits {
  readonly kind: StillKind;
  readonly protection?: SandboxProtection | undefined;
  readonly signal: AbortSignal;
  /** Milliseconds for reading the file. */
  readonly readTimeoutMs: number;
}

/**
 * Draws a still image of a file, as a JPEG, in a sandboxed process. Settles when the process has ended, and its input is
 * removed. Throws `RenderError`, and any error of reading the file.
 */
export async function drawStill(
  files: Pick<Files, 'read'>,
  file: FileEntry,
  options: StillOptions,
): Promise<Buffer<ArrayBuffer>> {
  let folder: string | undefined;
  try {
    folder = await mkdtemp(join(tmpdir(), 'holdall-still-'));
    const input = join(folder, 'input');
    await copyParts(files, file, { input, ...options });
    return await runPrograms(input, options);
  } catch (error) {
    throw isShortage(error) ? new RenderError('overloaded', error.message, { cause: error }) : error;
  } finally {
    if (folder !== undefined) await rm(folder, { recursive: true, force: true });
  }
}

/** Copies the parts of the file that the program needs to the same positions of a sparse file. */
async function copyParts(
  files: Pick<Files, 'read'>,
  file: FileEntry,
  { input, kind, signal, readTimeoutMs }: StillOptions & { readonly input: string },
): Promise<void> {
  const stop = AbortSignal.any([signal, AbortSignal.timeout(readTimeoutMs)]);
  const isWhole = kind !== 'video' || file.size <= VIDEO_HEAD_BYTES + VIDEO_TAIL_BYTES;
  const parts = isWhole
    ? [{ start: 0, end: file.size - 1 }]
    : [
        { start: 0, end: VIDEO_HEAD_BYTES - 1 },
        { start: file.size - VIDEO_TAIL_BYTES, end: file.size - 1 },
      ];
  const copy = await open(input, 'wx', 0o600);
  try {
    for (const range of parts) {
      const { bytes, body } = await files.read(file.path, { range, ifMatch: file.etag, isOnce: true, signal: stop });
      const end = await writeAt(copy, range, bytes ? [bytes] : addAbortSignal(stop, body), recyclerOf(body));
      if (end <= range.end) throw sizeMismatch(file);
    }
    await copy.truncate(file.size);
  } catch (error) {
    signal.throwIfAborted();
    throw stop.aborted ? readTimedOut(file, readTimeoutMs) : error;
  } finally {
    await copy.close();
  }
}

/** Returns the position after the last byte that was written. */
async function writeAt(
  copy: FileHandle,
  { start, end }: { readonly start: number; readonly end: number },
  chunks: Iterable<Buffer> | AsyncIterable<Buffer>,
  recycle: ((chunk: Buffer) => void) | undefined,
): Promise<number> {
  let position = start;
  for await (const chunk of chunks) {
    const part = chunk.subarray(0, end + 1 - position);
    // A write can be short.
    for (let done = 0; done < part.length; ) {
      done += (await copy.write(part, done, part.length - done, position + done)).bytesWritten;
    }
    position += part.length;
    recycle?.(chunk);
    if (position > end) break;
  }
  return position;
}

async function runPrograms(input: string, options: StillOptions): Promise<Buffer<ArrayBuffer>> {
  for (const command of COMMANDS[options.kind]) {
    const still = await run(command, input, options);
    // ffmpeg succeeds without a frame if the video is shorter.
    if (still.length > 0) return still;
  }
  throw new RenderError('no-still', 'The program returned no image.');
}

const PDF_COMMAND = [
  ...STILL_PROGRAMS.pdf,
  ...`-q -f 1 -l 1 -singlefile -scale-to ${STILL_SIZE} -jpeg -jpegopt quality=90 ${SANDBOX_INPUT}`.split(' '),
];

/** Container formats of videos, as ffmpeg calls them. Playlists, which name other files and URLs, are not among them. */
const CONTAINERS = [
  'mov',
  'matroska',
  'avi',
  'ogg',
  'flv',
  'mpegts',
  'mpeg',
  'mpegvideo',
  'asf',
  'h264',
  'hevc',
  'm4v',
];

/** Returns the command for a frame, upright and with square pixels. */
function videoCommand(seconds: number): string[] {
  const safety = `-protocol_whitelist file -format_whitelist ${CONTAINERS.join(',')} -max_pixels 100000000`;
  const input = `-nostdin -hide_banner -v error -threads 1 ${safety} -ss ${seconds} -i file:${SANDBOX_INPUT}`;
  const scale = `scale=w='trunc(min(iw*sar,${STILL_SIZE})/2)*2':h='trunc(min(ow/dar,${2 * STILL_SIZE})/2)*2',setsar=1`;
  const output = '-pix_fmt yuvj420p -c:v mjpeg -q:v 2 -threads 1 -f image2pipe pipe:1';
  const frame = `-map 0:V:0 -frames:v 1 -vf ${scale}`;
  return [...STILL_PROGRAMS.video, ...`${input} ${frame} ${output}`.split(' ')];
}

/**
 * heif-dec writes only files. Of a file with several images, it writes each one under its own name, beginning with the
 * first.
 */
const HEIC_COMMAND = [
  'sh',
  '-c',
  `$(${STILL_PROGRAMS.heic.map((name) => `command -v ${name}`).join(' || ')}) -q 90 ${SANDBOX_INPUT} ${SANDBOX_OUTPUT}/still.jpg >/dev/null && set -- ${SANDBOX_OUTPUT}/*.jpg && cat "$1"`,
];

const COMMANDS: Readonly<Record<StillKind, readonly (readonly string[])[]>> = {
  video: FRAME_SECONDS.map(videoCommand),
  pdf: [PDF_COMMAND],
  heic: [HEIC_COMMAND],
};

/**
 * Returns a JPEG without EXIF. libheif has applied the transformations of a HEIC image, and copies an orientation in its EXIF,
 * which readers of HEIC must ignore.
 */
function withoutExif(jpeg: Buffer): Buffer {
  const kept = [jpeg.subarray(0, 2)];
  let position = 2;
  while (position + 4 <= jpeg.length && jpeg[position] === 0xff && jpeg[position + 1] !== START_OF_SCAN) {
    const end = position + 2 + jpeg.readUInt16BE(position + 2);
    if (jpeg[position + 1] !== APP1) kept.push(jpeg.subarray(position, end));
    position = end;
  }
  return Buffer.concat([...kept, jpeg.subarray(position)]);
}

/** Markers of segments in a JPEG (ITU T.81, table B.1). */
const START_OF_SCAN = 0xda;
const APP1 = 0xe1;

async function run(
  command: readonly string[],
  input: string,
  { kind, cpuTimeMs, deadlineMs, memoryLimitBytes, protection, signal }: StillOptions,
): Promise<Buffer<ArrayBuffer>> {
  signal.throwIfAborted();
  const memoryBytes = memoryLimitBytes + LIBRARY_BYTES;
  const outputBytes = kind === 'heic' ? MAX_RENDITION_BYTES : 0;
  const limits = { input, memoryBytes, seconds: cpuTimeMs / 1000, outputBytes, protection };
  const running = startProcess(sandboxed(command, limits), deadlineMs);
  const kill = () => running.child.kill('SIGKILL');
  signal.addEventListener('abort', kill, { once: true });
  try {
    const { stdout } = await running;
    const drawn = kind === 'heic' ? withoutExif(stdout) : stdout;
    const still = Buffer.allocUnsafeSlow(drawn.length);
    drawn.copy(still);
    return still;
  } catch (error) {
    signal.throwIfAborted();
    throw asRenderError(error);
  } finally {
    signal.removeEventListener('abort', kill);
  }
}

/** Exit status of a program that a signal ended: 128 and the number of SIGXCPU or SIGKILL. */
const CPU_TIME_EXIT_CODE = 128 + 24;
const KILLED_EXIT_CODE = 128 + 9;

/** The code of Node.js for a program that it ended because of its output. */
const TOO_MUCH_OUTPUT = 'ERR_CHILD_PROCESS_STDIO_MAXBUFFER';

/** Messages of programs and of the sandbox that can't start, or that can't start a thread. */
const NOT_STARTED = /^(?:bwrap|prlimit): |Resource temporarily unavailable/m;

function asRenderError(error: unknown): unknown {
  if (!(error instanceof Error) || isShortage(error)) return error;
  const { code, signal, stderr } = error as Error & { code?: unknown; signal?: unknown; stderr?: unknown };
  const text = Buffer.isBuffer(stderr) ? stderr.toString('utf8', 0, 500) : '';
  const cause = error;
  if (code === CPU_TIME_EXIT_CODE) return new RenderError('too-slow', 'The program took too much CPU time.', { cause });
  // The deadline, a kill from outside, or a sandbox that does not start: the file is not the reason.
  const isEnded = typeof signal === 'string' || code === KILLED_EXIT_CODE;
  const isUnstarted = (typeof code === 'string' && code !== TOO_MUCH_OUTPUT) || NOT_STARTED.test(text);
  if (isEnded || isUnstarted) return new RenderError('overloaded', text, { cause });
  return new RenderError('no-still', text, { cause });
}
