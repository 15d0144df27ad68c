import type { Readable } from 'node:stream';
import type { Release } from '../domain/store.ts';

/**
 * Has a body release each piece that it pipes when that is written; the next one comes then. For what is done with bytes
 * when it says so, as a response is: the system has them.
 */
export function releaseWhenPiped(body: Readable, release: Release): Readable {
  return Object.assign(body, {
    pipe<Destination extends NodeJS.WritableStream>(destination: Destination): Destination {
      body.on('data', (piece: Buffer) => {
        body.pause();
        destination.write(piece, (error) => {
          if (error) return;
          release(piece);
          body.resume();
        });
      });
      body.once('end', () => destination.end());
      return destination;
    },
  });
}
