import type { Readable } from 'node:stream';

/**
 * Gives `take` each piece of a body, the next one when what it promises is done. Rejects with what ended the body before
 * its end, or with what `take` throws, and then gives the body up. A loop over the stream itself does the same, for the
 * price of all else that has to be done for a piece of a few kilobytes.
 */
export function eachPiece(body: Readable, take: (piece: Buffer) => void | Promise<void>): Promise<void> {
  return new Promise((resolve, reject) => {
    let taking: Promise<void> | undefined;
    const fail = (error: unknown) => {
      body.destroy();
      reject(error);
    };
    body.on('data', (piece: Buffer | string) => {
      try {
        taking = take(typeof piece === 'string' ? Buffer.from(piece) : piece) ?? undefined;
        if (!taking) return;
        body.pause();
        taking.then(() => body.resume(), fail);
      } catch (error) {
        fail(error);
      }
    });
    // The end may be told while the last piece is being taken.
    body.once('end', () => void Promise.resolve(taking).then(resolve, reject));
    body.on('error', reject);
    body.once('close', () => {
      if (!body.readableEnded) reject(cutShort());
    });
    if (body.readableEnded) resolve();
    else if (body.destroyed) reject(body.errored ?? cutShort());
  });
}

/** For a body that was given up without a word. */
export const cutShort = () => new Error('The body was cut short.');
