import type { TakenNames } from '../folder/taken-names.ts';
import { freeName, isFolderPath, nameOf, parentOf } from '../paths.ts';
import { asServiceError } from '../service/service-error.ts';
import type { Attempts } from './attempts.ts';
import { createDecisions } from './conflicts.ts';
import type { Under } from './operations.ts';
import type { Arrival, Step, TransferKind, Transport } from './steps.ts';
import type { Tools } from './tools.ts';

interface TransportOptions {
  readonly names: TakenNames;
  readonly attempts: Attempts;
  readonly steps: readonly Step[];
}

/** Puts steps through, and asks what to do where their names are taken at the destination. */
export function askingTransport(
  { dialogs, folder, rights, isFolderThere }: Tools,
  kind: TransferKind,
  { names, attempts, steps }: TransportOptions,
): Transport {
  const kindAt = async (destination: string) => {
    const bare = destination.replace(/\/$/, '');
    const known = folder.entryOf(bare) ?? folder.entryOf(`${bare}/`);
    if (known) return known.type;
    return (await isFolderThere(`${bare}/`)) ? 'folder' : 'file';
  };
  const decisions = createDecisions({ dialogs, rights, kindAt });
  /** Those that may still have to be asked about. */
  const open = new Set(steps);

  const put = async (step: Step, { signal, onProgress, stop, leave }: Under): Promise<Arrival> => {
    const earlier = await attempts.earlierArrival(kind, step);
    if (earlier) return earlier;
    let { destination } = step;
    let overwrite = false;
    let keepsBoth = false;
    for (;;) {
      try {
        return await attempts.transfer(kind, step, { destination, overwrite, signal, onProgress });
      } catch (error) {
        if (overwrite || asServiceError(error).status !== 409) throw error;
      }
      names.take(destination);
      if (!keepsBoth) {
        const decision = await decisions.decide(destination, () => open.size - 1);
        open.delete(step);
        if (decision === 'stop') stop();
        if (decision === 'stop' || decision === 'skip') {
          leave([step.path, step.destination]);
          return null;
        }
        overwrite = decision === 'replace';
        keepsBoth = decision === 'keep-both';
      }
      if (keepsBoth) {
        // What is at the wanted path is not what was shown there.
        leave([step.destination]);
        await names.learn(parentOf(destination));
        destination = freeDestination(destination, names);
      }
    }
  };
  return (step, under) => put(step, under).finally(() => open.delete(step));
}

/** Puts steps through as they are: where a name is taken, they fail. */
export function plainTransport(attempts: Attempts, kind: TransferKind): Transport {
  return (step, { signal, onProgress }) =>
    attempts.transfer(kind, step, { destination: step.destination, overwrite: false, signal, onProgress });
}

/** The path of the first free name like the wanted one, which is taken from now on. */
export function freeDestination(wanted: string, names: TakenNames): string {
  const folder = parentOf(wanted);
  const name = freeName(nameOf(wanted), (tried) => names.isTaken(folder, tried), isFolderPath(wanted));
  const path = `${folder}${name}${isFolderPath(wanted) ? '/' : ''}`;
  names.take(path);
  return path;
}
