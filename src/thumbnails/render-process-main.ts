import { writeFileSync, writeSync } from 'node:fs';
import { promisify } from 'node:util';
import { gunzip } from 'node:zlib';
import { allowAllFormats, drawRendition } from './draw.ts';
import { RenderError, serializeRenderError } from './errors.ts';
import { MAX_SOURCE_BYTES } from './limits.ts';
import { RENDER_ERROR_EXIT_CODE } from './render.ts';
import { renditionOfName } from './renditions.ts';

/*
 * The process that `render.ts` starts for one image. Reads the image from stdin, and writes the rendition to stdout.
 * Arguments: name of the rendition, size of the image in bytes, limit of CPU time and deadline in milliseconds, memory limit in bytes.
 */

const [rendition = '', ...figures] = process.argv.slice(2);
const [size = 0, cpuTimeMs = 0, deadlineMs = 0, memoryLimit = 0] = figures.map(Number);

// If the machine runs out of memory, Linux kills this process first instead of the service.
try {
  writeFileSync('/proc/self/oom_score_adj', '1000');
} catch {
  // Only Linux has the file, and a container might protect it.
}

// The parent process kills this process after the deadline. If the parent itself was killed, this timer ends a render
// that would take hours. `process.exit` would wait for the render.
setTimeout(() => process.kill(process.pid, 'SIGKILL'), 2 * deadlineMs).unref();

// libvips works in other threads, so this thread can check the memory and the CPU time. Limits of the operating system do not fit.
// V8 reserves far more memory than it uses, and libraries without memory crash as if the image were damaged.
const WATCH_MS = 5;
setInterval(() => {
  const used = process.memoryUsage.rss();
  if (used > memoryLimit) end(new RenderError('too-much-memory', `The process took ${used} bytes of memory.`));
  const { user, system } = process.cpuUsage();
  if (user + system > cpuTimeMs * 1000) end(new RenderError('too-slow', `The process took ${user + system} µs.`));
}, WATCH_MS).unref();

/** Writes an error, and ends the process: `process.exit` would wait for the render. */
function end(error: RenderError): void {
  writeSync(process.stdout.fd, serializeRenderError(error));
  process.kill(process.pid, 'SIGKILL');
}

allowAllFormats();
try {
  const image = await unpack(await readImage());
  process.stdout.write(await drawRendition(image, renditionOfName(rendition), deadlineMs));
} catch (error) {
  if (!(error instanceof RenderError)) throw error;
  process.exitCode = RENDER_ERROR_EXIT_CODE;
  process.stdout.write(serializeRenderError(error));
}

async function readImage(): Promise<Buffer> {
  const image = Buffer.allocUnsafeSlow(size);
  let length = 0;
  for await (const part of process.stdin as AsyncIterable<Buffer>) length += part.copy(image, length);
  return image.subarray(0, length);
}

/** Unpacks a gzip-compressed SVG with a size limit. 50 kB can hold 50 MB, and librsvg itself has no limit. */
async function unpack(image: Buffer): Promise<Buffer> {
  if (!isPacked(image)) return image;
  const unpacked = await promisify(gunzip)(image, { maxOutputLength: MAX_SOURCE_BYTES }).catch((error: unknown) => {
    const fault = error instanceof RangeError ? 'too-large-unpacked' : 'damaged';
    throw new RenderError(fault, String(error), { cause: error });
  });
  if (isPacked(unpacked)) throw new RenderError('unsupported', 'The file is compressed twice.');
  return unpacked;
}

function isPacked(bytes: Buffer): boolean {
  return bytes[0] === 0x1f && bytes[1] === 0x8b;
}
