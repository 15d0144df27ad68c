import { signal as createSignal } from '@preact/signals';
import { freeName, isFolderPath, nameOf, parentOf } from '../../platform/paths.ts';
import { entriesIn } from '../../platform/service/pages.ts';
import { asServiceError } from '../../platform/service/service-error.ts';
import type { TakenNames } from '../folder/taken-names.ts';
import type { Attempts } from './attempts.ts';
import type { Tools } from './change-context.ts';
import { createDecisions } from './conflicts.ts';
import type { Under } from './operations.ts';
import type { Arrival, Step, TransferKind, Transport } from './steps.ts';

interface TransportOptions {
  readonly names: TakenNames;
  readonly attempts: Attempts;
  readonly steps: readonly Step[];
}

/** The maximum number of free names to try for one item, because the service may reject every name. */
const MAX_FREE_NAMES = 100;

/** Performs steps and asks the user about name conflicts at the destination. */
export function askingTransport(
  { service, prompts, folder, permissions, isFolderThere }: Tools,
  kind: TransferKind,
  { names, attempts, steps }: TransportOptions,
): Transport {
  const kindAt = async (destination: string) => {
    const path = bare(destination);
    const known = folder.entryOf(path) ?? folder.entryOf(`${path}/`);
    if (known) return known.type;
    return (await isFolderThere(`${path}/`)) ? 'folder' : 'file';
  };
  const decisions = createDecisions({ prompts, permissions, kindAt });
  const conflicts = trackConflicts(service, steps);
  const isConflict = async (error: unknown, destination: string) => {
    const problem = asServiceError(error);
    if (!problem.is(['already-exists', 'wrong-kind'], 409)) return false;
    // Below a file, no name is free.
    return problem.code !== 'wrong-kind' || isFolderThere(parentOf(destination));
  };

  const put = async (step: Step, { signal, onProgress, stop, leave }: Under): Promise<Arrival> => {
    const earlier = await attempts.earlierArrival(kind, step);
    if (earlier) return earlier;
    let { destination } = step;
    let overwrite = false;
    let keepsBoth = false;
    for (let freeNames = 0; ; freeNames++) {
      try {
        return await attempts.transfer(kind, step, { destination, overwrite, signal, onProgress });
      } catch (error) {
        if (overwrite || freeNames === MAX_FREE_NAMES || !(await isConflict(error, destination))) throw error;
      }
      names.take(destination);
      if (!keepsBoth) {
        conflicts.found(step);
        const decision = await decisions.decide({ destination, arriving: step.entry, others: conflicts.others(step) });
        conflicts.settled(step);
        if (decision === 'stop') stop();
        if (decision === 'stop' || decision === 'skip') {
          leave([step.path, step.destination]);
          return null;
        }
        overwrite = decision === 'replace';
        keepsBoth = decision === 'keep-both';
      }
      if (keepsBoth) {
        // The entry at the destination is not the one that the folder showed.
        leave([step.destination]);
        await names.learn(parentOf(destination));
        destination = freeDestination(destination, names);
      }
    }
  };
  return (step, under) => put(step, under).finally(() => conflicts.settled(step));
}

/** Tracks which steps conflict, including steps not yet tried: the first conflict lists their folders. */
function trackConflicts(service: Tools['service'], steps: readonly Step[]) {
  const open = new Set(steps);
  const listed = new Set<string>();
  const conflicting = createSignal<ReadonlySet<Step>>(new Set());

  const list = async (target: string) => {
    const taken = new Set<string>();
    for await (const { path } of entriesIn(service, target)) taken.add(bare(path));
    const more = [...open].filter(({ destination }) => taken.has(bare(destination)));
    conflicting.value = new Set([...conflicting.value, ...more]);
  };
  return {
    found(step: Step) {
      conflicting.value = new Set([...conflicting.value, step]);
      const target = parentOf(step.destination);
      if (listed.has(target)) return;
      listed.add(target);
      // If the listing fails, each step detects its own conflict when it runs.
      list(target).catch(() => {});
    },
    settled(step: Step) {
      open.delete(step);
      if (!conflicting.value.has(step)) return;
      conflicting.value = new Set([...conflicting.value].filter((other) => other !== step));
    },
    /** Returns a function that reads a signal and returns the number of other conflicting steps. */
    others: (step: Step) => () => [...conflicting.value].filter((other) => other !== step).length,
  };
}

const bare = (path: string) => path.replace(/\/$/, '');

/** Performs steps without questions: a step fails if its name is taken. */
export function plainTransport(attempts: Attempts, kind: TransferKind): Transport {
  return (step, { signal, onProgress }) =>
    attempts.transfer(kind, step, { destination: step.destination, overwrite: false, signal, onProgress });
}

/** Returns the path of the first free name similar to `wanted`, and reserves it. */
export function freeDestination(wanted: string, names: TakenNames): string {
  const folder = parentOf(wanted);
  const name = freeName(nameOf(wanted), (tried) => names.isTaken(folder, tried), isFolderPath(wanted));
  const path = `${folder}${name}${isFolderPath(wanted) ? '/' : ''}`;
  names.take(path);
  return path;
}
