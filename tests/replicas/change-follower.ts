import { once } from 'node:events';
import { get, type IncomingMessage } from 'node:http';
import { createInterface } from 'node:readline';
import { setTimeout as delay } from 'node:timers/promises';
import type { Change } from '../../src/model/change.ts';
import { atEnd, type Owner } from '../../testing/holdall.ts';
import { until } from '../../testing/until.ts';

/** A change of the feed, with its ETag in quotes. */
export interface FeedChange extends Change {
  readonly id: string;
}

interface Address {
  readonly host: string;
  readonly port: number;
}

/** Milliseconds before the next attempt to connect. */
const RECONNECT_MS = 50;

/** A client of the stream of changes, which reconnects like the `EventSource` of a browser. */
export class ChangeFollower {
  readonly changes: FeedChange[] = [];
  /** The number of successful connections. */
  connections = 0;
  readonly #address: Address;
  readonly #closing = new AbortController();
  #lastId: string | undefined;

  private constructor(address: Address) {
    this.#address = address;
  }

  /** Follows all changes from now on, until the owner ends. */
  static async start(owner: Owner, address: Address): Promise<ChangeFollower> {
    const follower = new ChangeFollower(address);
    const following = follower.#follow();
    atEnd(owner, async () => {
      follower.#closing.abort();
      await following;
    });
    await until('the stream has begun', () => follower.#lastId !== undefined);
    return follower;
  }

  async #follow(): Promise<void> {
    const { signal } = this.#closing;
    while (!signal.aborted) {
      // A replica that restarts refuses or resets connections.
      await this.#read().catch(() => {});
      await delay(RECONNECT_MS, undefined, { signal }).catch(() => {});
    }
  }

  /** Reads events until the connection ends. */
  async #read(): Promise<void> {
    const headers = {
      accept: 'text/event-stream',
      ...(this.#lastId !== undefined && { 'last-event-id': this.#lastId }),
    };
    const { signal } = this.#closing;
    const request = get({ ...this.#address, path: '/-/changes', headers, agent: false, signal });
    const [response] = (await once(request, 'response')) as [IncomingMessage];
    request.on('error', () => {});
    if (response.statusCode !== 200) return void response.destroy();
    this.connections++;
    for await (const line of createInterface({ input: response })) {
      if (line.startsWith('data: ')) this.changes.push(JSON.parse(line.slice('data: '.length)));
      else if (line.startsWith('id: ')) this.#lastId = line.slice('id: '.length);
    }
  }
}
