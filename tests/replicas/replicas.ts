import assert from 'node:assert/strict';
import { readdir } from 'node:fs/promises';
import { type Holdall, isError, isRunning, type LogLine, type Owner, startHoldall } from '../../testing/holdall.ts';
import { until } from '../../testing/until.ts';
import { anonymousMemory } from '../process/memory.ts';

/** One of several services on one store, with its own address, which it keeps when it is started again. */
export interface Replica {
  /** As `host:port`. */
  readonly address: string;
  /** Starts the service and waits until it is ready. */
  start(): Promise<void>;
  /** Stops the service by SIGTERM. Returns its exit code. */
  stop(): Promise<{ readonly code: number | null }>;
  /** Kills the service by SIGKILL. */
  kill(): Promise<void>;
  isRunning(): boolean;
  /** Waits until the process has released the memory and file descriptors of its requests. */
  untilAtRest(): Promise<void>;
  /** The last line of the log. */
  lastLine(): LogLine | undefined;
  /** The faults in the logs of all its processes. */
  faults(): readonly string[];
}

/** The resources of an idle process. */
interface Rest {
  readonly memory: number;
  readonly descriptors: number;
}

/** Bytes that a process can keep after it has sent parts of 8 MiB, drawn images and compiled its code. */
const MORE_MEMORY = 200_000_000;

/** Connections that can stay open: 32 by each of the two workers of nginx, and 64 to the store. */
const MORE_DESCRIPTORS = 128;

export const PORT = 8080;

/** Creates a replica at an address of the loopback network, without starting it. It ends with its owner. */
export function createReplica(owner: Owner, host: string, settings: Readonly<Record<string, string>>): Replica {
  const processes: Holdall[] = [];
  let rest: Rest | undefined;
  const current = () => processes.at(-1) ?? assert.fail('The replica was never started.');

  return {
    address: `${host}:${PORT}`,
    async start() {
      processes.push(await startHoldall(owner, { settings: { ...settings, HOST: host, PORT: String(PORT) } }));
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
      await until('a replica has released memory and descriptors', async () => {
        const now = await restOf(current().pid);
        return now.memory <= memory + MORE_MEMORY && now.descriptors <= descriptors + MORE_DESCRIPTORS;
      });
    },
    lastLine: () => current().log.at(-1),
    faults: () =>
      processes.flatMap(({ log }) =>
        log.filter(isFault).map(({ msg, err }) => `${String(msg)} ${JSON.stringify(err)}`),
      ),
  };
}

/** An error in the log, except the report of an unreachable store. */
const isFault = (line: LogLine) => isError(line) && !String(line['msg']).startsWith('Store unreachable');

async function restOf(pid: number): Promise<Rest> {
  return { memory: await anonymousMemory(pid), descriptors: (await readdir(`/proc/${pid}/fd`)).length };
}
