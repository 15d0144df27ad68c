import { freeName, isFolderPath, nameOf, parentOf } from '../paths.ts';
import { asServiceError } from '../service/service-error.ts';
import { createDecisions } from './conflicts.ts';
import type { Under } from './operations.ts';
import type { Arrival, Step, TransferKind, Transport } from './steps.ts';
import type { TakenNames } from './taken-names.ts';
import type { Tools } from './tools.ts';

/** Puts steps through, and asks what to do where their names are taken at the destination. */
export function askingTransport(
  { service, dialogs, folder, isFolderThere }: Tools,
  kind: TransferKind,
  { names, steps }: { readonly names: TakenNames; readonly steps: readonly Step[] },
): Transport {
  const kindAt = async (destination: string) => {
    const bare = destination.replace(/\/$/, '');
    const known = folder.entryOf(bare) ?? folder.entryOf(`${bare}/`);
    if (known) return known.type;
    return (await isFolderThere(`${bare}/`)) ? 'folder' : 'file';
  };
  const decisions = createDecisions(dialogs, kindAt);
  /** Those that may still have to be asked about. */
  const open = new Set(steps);

  const put = async (step: Step, { signal, onProgress, stop }: Under): Promise<Arrival> => {
    let { destination } = step;
    let overwrite = false;
    let keepsBoth = false;
    for (;;) {
      try {
        await service.transfer(kind, step.path, destination, { overwrite, signal, onProgress });
        return { path: destination, hasReplaced: overwrite };
      } catch (error) {
        if (overwrite || asServiceError(error).status !== 409) throw error;
      }
      names.add(nameOf(destination));
      if (!keepsBoth) {
        const decision = await decisions.decide(destination, () => open.size - 1);
        open.delete(step);
        if (decision === 'stop') stop();
        if (decision === 'stop' || decision === 'skip') return null;
        overwrite = decision === 'replace';
        keepsBoth = decision === 'keep-both';
      }
      if (keepsBoth) {
        await names.learn();
        destination = freeDestination(destination, names);
      }
    }
  };
  return (step, under) => put(step, under).finally(() => open.delete(step));
}

/** Puts steps through as they are: where a name is taken, they fail. */
export function plainTransport({ service }: Tools, kind: TransferKind): Transport {
  return async ({ path, destination }, { signal, onProgress }) => {
    await service.transfer(kind, path, destination, { signal, onProgress });
    return { path: destination, hasReplaced: false };
  };
}

/** The path of the first free name like the wanted one, which is taken from now on. */
export function freeDestination(wanted: string, names: TakenNames): string {
  const name = freeName(nameOf(wanted), names.isTaken, isFolderPath(wanted));
  names.add(name);
  return `${parentOf(wanted)}${name}${isFolderPath(wanted) ? '/' : ''}`;
}
