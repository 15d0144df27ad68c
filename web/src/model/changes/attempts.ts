import { isFolderPath } from '../../platform/paths.ts';
import { findEntry } from '../../platform/service/pages.ts';
import type { OperationOptions, Service } from '../../platform/service/service.ts';
import { asServiceError, isAbort } from '../../platform/service/service-error.ts';
import type { Arrival, Step, TransferKind } from './steps.ts';

/** Asks for transfers, and finds those done that the service did without being able to say so. */
export interface Attempts {
  /** Gives where a step is, when an earlier attempt at it that was not answered has brought it there. */
  earlierArrival(kind: TransferKind, step: Step): Promise<NonNullable<Arrival> | undefined>;
  /** Throws a `ServiceError`, or the signal's reason: not that, though, where a move was cancelled too late. */
  transfer(kind: TransferKind, step: Step, attempt: Attempt): Promise<NonNullable<Arrival>>;
}

export interface Attempt extends OperationOptions {
  readonly destination: string;
  readonly overwrite: boolean;
}

/** Milliseconds by which clocks differ, and by which stores round. */
const CLOCKS_DIFFER = 10_000;

/** Milliseconds that it may take to learn whether a file is there. */
const CHECKED_WITHIN = 60_000;

export function createAttempts(
  service: Pick<Service, 'transfer' | 'list' | 'check'>,
  isFolderThere: (path: string) => Promise<boolean>,
): Attempts {
  /** The last attempt at each step that was not answered, and when it began. */
  const unanswered = new WeakMap<Step, NonNullable<Arrival> & { readonly since: number }>();

  const isGone = async (path: string): Promise<boolean> => {
    if (isFolderPath(path)) return !(await isFolderThere(path));
    try {
      await service.check(path, AbortSignal.timeout(CHECKED_WITHIN));
      return false;
    } catch (error) {
      return asServiceError(error).isNotFound;
    }
  };
  /** A folder can't be told from one that is there in part, and a copy of it is asked about as any other. */
  const hasArrived = async (kind: TransferKind, { path, entry }: Step, destination: string, since: number) => {
    if (isFolderPath(path)) return kind === 'move' && (await isGone(path)) && (await isFolderThere(destination));
    const found = await findEntry(service, destination);
    if (found?.type !== 'file' || entry?.type !== 'file' || found.size !== entry.size) return false;
    if (kind === 'move') return isGone(path);
    return found.modified !== null && Date.parse(found.modified) >= since - CLOCKS_DIFFER;
  };

  return {
    async earlierArrival(kind, step) {
      const earlier = unanswered.get(step);
      if (!earlier) return undefined;
      // Where that can't be learnt, the next attempt will tell.
      const isThere = await hasArrived(kind, step, earlier.path, earlier.since).catch(() => false);
      return isThere ? { path: earlier.path, hasReplaced: earlier.hasReplaced } : undefined;
    },
    async transfer(kind, step, { destination, overwrite, ...options }) {
      const arrival = { path: destination, hasReplaced: overwrite };
      const since = Date.now();
      try {
        await service.transfer(kind, step.path, destination, { overwrite, ...options });
        return arrival;
      } catch (error) {
        if (isAbort(error)) {
          if (kind === 'move' && (await isGone(step.path))) return arrival;
        } else if (asServiceError(error).isOutcomeUnknown) unanswered.set(step, { ...arrival, since });
        throw error;
      }
    },
  };
}
