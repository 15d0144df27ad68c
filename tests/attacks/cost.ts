import assert from 'node:assert/strict';
import { readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { getHeapStatistics, setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import type { Store } from '../../src/model/store.ts';
import type { HttpResponse } from '../http/client.ts';

/** What a request costs the service. The process also contains the client. */
export interface Cost {
  /** CPU time, as a multiple of that of a small download. Unlike a duration, it doesn't grow with the load of the machine. */
  readonly cpu: number;
  /** Bytes of the JavaScript heap that were allocated, also those that were freed again, without those for compiled code. */
  readonly heap: number;
  /** Growth of the memory of the process at its peak, in bytes. The first request can load code. */
  readonly memory: number;
  /** Growth of the files in the store and of the state of the service, in bytes. */
  readonly disk: number;
  /** Additional rows in the database. */
  readonly rows: number;
  /** Calls of the store. */
  readonly calls: number;
  /** Bytes of the body of the response. */
  readonly response: number;
}

/** What a service has stored. */
interface Stored {
  /** In all tables of the database. */
  readonly rows: number;
  /** In bytes. */
  readonly disk: number;
}

/** Requests to measure. */
export interface Measurable {
  /** Sends the request for the given number of times. */
  readonly send: (run: number) => Promise<HttpResponse>;
  readonly status: number;
}

/**
 * Times that a request is sent. The lowest CPU time and heap count: the first request also compiles code, which takes more memory
 * than most requests, and how much depends on the compiler. Everything else counts at its highest.
 */
const RUNS = 2;

const REFERENCE_RUNS = 50;

/** Measures requests to a service in this process, with SQLite, whose files are all in `folder`. */
export class CostMeter {
  readonly #folder: string;
  readonly #reference: () => Promise<HttpResponse>;
  #database: DatabaseSync | undefined;
  #calls = 0;
  /** The CPU time of the reference, in microseconds. */
  #referenceCpu: number | undefined;
  /** What the service stored after the last measurement. */
  #stored: Stored | undefined;

  /** `reference` sends the request to compare with. */
  constructor(folder: string, reference: () => Promise<HttpResponse>) {
    this.#folder = folder;
    this.#reference = reference;
  }

  /** Returns a store that counts the calls. */
  count(store: Store): Store {
    return new Proxy(store, {
      get: (target, member, receiver) => {
        const value: unknown = Reflect.get(target, member, receiver);
        if (typeof value !== 'function') return value;
        return (...args: unknown[]) => {
          if (member !== 'isSizeCertain') this.#calls++;
          return Reflect.apply(value, target, args);
        };
      },
    });
  }

  /** Sends a request several times. Returns what each one costs at most. */
  async measure({ send, status }: Measurable): Promise<Cost> {
    this.#referenceCpu ??= await this.#measureReference();
    const reference = this.#referenceCpu;
    const before = this.#stored ?? this.#measureStored();
    const costs: Omit<Cost, 'disk' | 'rows'>[] = [];
    for (let run = 0; run < RUNS; run++) {
      collectGarbage();
      this.#calls = 0;
      const heap = allocatedBytes();
      const memory = resetPeak();
      const start = cpuTime();
      const response = await send(run);
      const cpu = (cpuTime() - start) / reference;
      assert.equal(response.status, status, response.body.toString().slice(0, 300));
      costs.push({
        cpu,
        heap: allocatedBytes() - heap,
        memory: peak() - memory,
        calls: this.#calls,
        response: response.body.length,
      });
    }
    this.#stored = this.#measureStored();
    const most = (column: 'memory' | 'calls' | 'response') => Math.max(...costs.map((cost) => cost[column]));
    const least = (column: 'cpu' | 'heap') => Math.min(...costs.map((cost) => cost[column]));
    return {
      cpu: least('cpu'),
      heap: least('heap'),
      memory: most('memory'),
      disk: (this.#stored.disk - before.disk) / RUNS,
      rows: (this.#stored.rows - before.rows) / RUNS,
      calls: most('calls'),
      response: most('response'),
    };
  }

  close(): void {
    this.#database?.close();
  }

  #measureStored(): Stored {
    return { rows: this.#rows(), disk: bytesOf(this.#folder) };
  }

  async #measureReference(): Promise<number> {
    const start = cpuTime();
    for (let run = 0; run < REFERENCE_RUNS; run++) assert.equal((await this.#reference()).status, 200);
    return (cpuTime() - start) / REFERENCE_RUNS;
  }

  /** Returns the number of rows in all tables. */
  #rows(): number {
    this.#database ??= new DatabaseSync(databaseIn(this.#folder));
    const database = this.#database;
    // Otherwise, the size of the write-ahead log depends on what earlier requests wrote.
    database.exec('pragma synchronous = off; pragma wal_checkpoint(truncate)');
    const tables = database.prepare("SELECT name FROM sqlite_master WHERE type = 'table'").all();
    const counts = tables.map(
      ({ name }) => database.prepare(`SELECT count(*) AS rows FROM "${String(name)}"`).get()?.rows,
    );
    return counts.reduce((sum: number, count) => sum + Number(count), 0);
  }
}

/**
 * Frees unused memory of the last requests, so that the next one can't use it instead of new one. Otherwise, what they left would
 * also be collected during the next one, and objects that a collection moves count as allocated again.
 */
function collectGarbage(): void {
  setFlagsFromString('--expose-gc');
  // A collection of the whole heap takes longer than most requests.
  runInNewContext("gc({ type: 'minor' })");
}

function allocatedBytes(): number {
  return getHeapStatistics().total_allocated_bytes;
}

/** Returns the CPU time of the process and of its child processes that have ended, in microseconds. */
function cpuTime(): number {
  const { user, system } = process.cpuUsage();
  if (process.platform !== 'linux') return user + system;
  // The fields 16 and 17 of proc(5), in ticks of 10 milliseconds. The name in parentheses can contain spaces.
  const fields = readFileSync('/proc/self/stat', 'utf8').split(') ').at(-1)?.split(' ') ?? [];
  return user + system + (Number(fields[13]) + Number(fields[14])) * 10_000;
}

/** Returns the memory of the process, from which `peak` counts. */
function resetPeak(): number {
  // Linux resets the peak of the memory (proc(5)). Elsewhere, `peak` is that of the whole process.
  if (process.platform === 'linux') writeFileSync('/proc/self/clear_refs', '5');
  return process.memoryUsage.rss();
}

/** Returns the highest memory of the process, in bytes. */
function peak(): number {
  return process.resourceUsage().maxRSS * 1024;
}

/** Returns the path of the open database, which has a write-ahead log. */
function databaseIn(folder: string): string {
  const log = readdirSync(folder, { recursive: true, encoding: 'utf8' }).find((path) => path.endsWith('.sqlite-wal'));
  assert.ok(log !== undefined, 'The service has no database.');
  return join(folder, log.slice(0, -'-wal'.length));
}

/** Returns the bytes that the files in a folder occupy. */
function bytesOf(folder: string): number {
  return readdirSync(folder, { withFileTypes: true })
    .map((entry) => {
      const path = join(folder, entry.name);
      if (entry.isDirectory()) return bytesOf(path);
      return (statSync(path, { throwIfNoEntry: false })?.blocks ?? 0) * 512;
    })
    .reduce((sum, bytes) => sum + bytes, 0);
}
