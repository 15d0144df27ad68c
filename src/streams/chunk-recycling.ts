import type { Readable } from 'node:stream';

/*
 * Some producers of streams can reuse or free the memory of a chunk as soon as its consumer is done with it. Otherwise
 * garbage collection frees it, which costs CPU time and memory: docs/decisions/chunk-recycling.md has the figures.
 *
 * Only consumers that don't keep a reference to the chunk recycle it: the writer of the disk store, the HTTP response,
 * and the reader of thumbnail sources. A consumer that never recycles is correct too.
 */

type Recycle = (chunk: Buffer) => void;

const recyclers = new WeakMap<Readable, Recycle>();

/** Sets the function that recycles the chunks of `body`. */
export function setRecycler(body: Readable, recycle: Recycle): void {
  recyclers.set(body, recycle);
}

/** Makes `outer`, which passes on the chunks of `inner`, recycle them as `inner` does. */
export function inheritRecycler(outer: Readable, inner: Readable): void {
  const recycle = recyclers.get(inner);
  if (recycle) recyclers.set(outer, recycle);
}

/**
 * Returns the function that recycles a chunk of `body`; undefined if its producer has no use for it. Call it at most once
 * per chunk, after the last access to the chunk.
 */
export function recyclerOf(body: Readable): Recycle | undefined {
  return recyclers.get(body);
}

/**
 * Makes `body.pipe` recycle each chunk once it is written, and read the next one only then. The destination must be
 * finished with a chunk when its write callback runs, as HTTP responses are: the system has the bytes. Returns `body`.
 */
export function recycleWhenPiped(body: Readable): Readable {
  const recycle = recyclers.get(body);
  if (!recycle) return body;
  return Object.assign(body, {
    pipe<Destination extends NodeJS.WritableStream>(destination: Destination): Destination {
      body.on('data', (chunk: Buffer) => {
        body.pause();
        destination.write(chunk, (error) => {
          if (error) return;
          recycle(chunk);
          body.resume();
        });
      });
      body.once('end', () => destination.end());
      return destination;
    },
  });
}

/**
 * Frees the memory of a buffer immediately. The buffer, and others that share its memory, become empty. Unreferenced
 * buffers count as used memory until they are collected, so V8 would scan the whole heap repeatedly for a few of
 * them.
 */
export function freeMemory({ buffer }: Buffer): void {
  if (buffer instanceof ArrayBuffer) buffer.transfer(0);
}

/** Minimum size of a chunk in bytes for which freeing its memory is worthwhile. */
const MIN_FREED_CHUNK_BYTES = 4 * 1024;

/** Frees the memory of a chunk of a request immediately, if no other chunk shares its buffer. */
export function freeOwnedChunk(chunk: Buffer): void {
  if (chunk.length >= MIN_FREED_CHUNK_BYTES && chunk.length === chunk.buffer.byteLength) freeMemory(chunk);
}
