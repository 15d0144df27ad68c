import assert from 'node:assert/strict';
import { readdir } from 'node:fs/promises';
import { type Holdall, isRunning, type LogLine, type Owner, startHoldall } from '../../testing/holdall.ts';
import { until } from '../../testing/until.ts';
import { anonymousMemory } from '../process/memory.ts';

/** One of several services on one store, which is stopped and started again at an address of its own. */
export interface Replica {
  /** As `host:port`. */
  readonly address: string;
  /** Starts it, and waits until it is ready. */
  start(): Promise<void>;
  /** Asks it to stop (SIGTERM), and waits until it has; says how it ended. */
  stop(): Promise<{ readonly code: number | null }>;
  /** Kills it (SIGKILL). */
  kill(): Promise<void>;
  isRunning(): boolean;
  /** Waits until its memory and descriptors are those of a process that has served, and does nothing. */
  untilAtRest(): Promise<void>;
  /** The last line of its log. */
  lastLine(): LogLine | undefined;
  /** What it said, in all its lives, that is not to be said by a service that is right. */
  faults(): readonly string[];
}

/** Of a process that has nothing to do. */
interface Rest {
  readonly memory: number;
  readonly descriptors: number;
}

/**
 * Bytes beyond those at the start that may stay: what a process keeps that has sent parts of 8 MiB, drawn images and
 * compiled all its code.
 */
const MORE_MEMORY = 200_000_000;

/** Connections that may be kept: 32 by each of the two workers of nginx, and 64 to the store. */
const MORE_DESCRIPTORS = 128;

export const PORT = 8080;

/** A replica at this address of the loopback network, not started yet. It ends with its owner. */
export function createReplica(owner: Owner, host: string, settings: Readonly<Record<string, string>>): Replica {
  const lives: Holdall[] = [];
  let rest: Rest | undefined;
  const current = () => lives.at(-1) ?? assert.fail('The replica was never started.');

  return {
    address: `${host}:${PORT}`,
    async start() {
      lives.push(await startHoldall(owner, { settings: { ...settings, HOST: host, PORT: String(PORT) } }));
      rest ??= await restOf(current().pid);
    },
    async stop() {
      current().signal('SIGTERM');
      return current().ended;
    },
    kill: () => current().kill(),
    isRunning: () => isRunning(current().pid),
    async untilAtRest() {
      const { memory, descriptors } = rest ?? assert.fail('The replica was never started.');
      await until('a replica has given back what it took', async () => {
        const now = await restOf(current().pid);
        return now.memory <= memory + MORE_MEMORY && now.descriptors <= descriptors + MORE_DESCRIPTORS;
      });
    },
    lastLine: () => current().log.at(-1),
    faults: () =>
      lives.flatMap(({ log }) => log.filter(isFault).map(({ msg, err }) => `${String(msg)} ${JSON.stringify(err)}`)),
  };
}

/** A 500, or the end of a process; that the store is gone is an error as well, and told rightly. */
const isFault = ({ level, msg }: LogLine) => Number(level) >= 50 && !String(msg).startsWith('Store unreachable');

async function restOf(pid: number): Promise<Rest> {
  return { memory: await anonymousMemory(pid), descriptors: (await readdir(`/proc/${pid}/fd`)).length };
}
