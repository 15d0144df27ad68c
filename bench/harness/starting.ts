import type { Comparison, Contender, IdleProcess, Sample } from './comparison.ts';
import { median } from './figures.ts';
import { cpuSecondsOf, memoryOfEach } from './process-tree.ts';
import { get } from './requests.ts';
import { measureIdleMemory } from './resident-memory.ts';
import type { RunningServer, Server } from './servers.ts';
import { startServer } from './servers.ts';
import type { Stage } from './stage.ts';

/** Compares the time from the start of each server to its first response, and the memory of its idle processes. */
export function startComparison(servers: readonly Server[], stage: Stage): Comparison {
  return {
    id: 'start',
    title: 'Start to first response, and idle memory',
    unit: 'seconds',
    reference: 'caddy',
    programs: [],
    contenders: servers.map((server): Contender => {
      const measure = (signal: AbortSignal) => measureStarts(server, stage, signal);
      return { name: server.name, program: server.program, measure };
    }),
  };
}

/** Starts per figure, which is their median. */
export const startsEach = 5;

async function measureStarts(server: Server, stage: Stage, signal: AbortSignal): Promise<Sample> {
  const starts: Start[] = [];
  for (let start = 0; start < startsEach; start++) starts.push(await measureStart(server, stage, signal));
  await using running = await startServer(server, stage.newSite(), signal);
  return {
    value: median(starts.map(({ seconds }) => seconds)),
    cpuSeconds: median(starts.map(({ cpuSeconds }) => cpuSeconds)),
    peakMemory: null,
    idleProcess: await measureIdle(running, server, signal),
    latencyP99: null,
    remark: '',
  };
}

interface Start {
  readonly seconds: number;
  readonly cpuSeconds: number;
}

async function measureStart(server: Server, stage: Stage, signal: AbortSignal): Promise<Start> {
  await using running = await startServer(server, stage.newSite(), signal);
  return { seconds: running.secondsToResponse, cpuSeconds: cpuSecondsOf(running.pid) };
}

/**
 * Returns the memory of the largest idle process. Some requests are sent first, so that all processes run and the code of
 * each kind of request is loaded.
 */
async function measureIdle(running: RunningServer, server: Server, signal: AbortSignal): Promise<IdleProcess> {
  for (let request = 0; request < 30; request++) {
    for (const path of [server.filePath('4KiB.bin'), '/entries/']) {
      const { status } = await get(running.url(path), { accept: 'application/json' }, signal);
      if (status !== 200) throw new Error(`warm-up: GET ${path}: ${status}`);
    }
  }
  await measureIdleMemory(running, signal);
  const processes = memoryOfEach(running.pid);
  const [largest] = processes.toSorted((one, other) => other.resident - one.resident);
  if (!largest) throw new Error(`${server.name} has no process`);
  return { ...largest, processes: processes.length };
}
