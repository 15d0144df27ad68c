import { batch } from '@preact/signals';
import { isFolderPath, parentOf } from '../../platform/paths.ts';
import type { Entry } from '../../platform/service/service.ts';
import type { Change } from '../folder/change-log.ts';
import type { Tools } from './change-context.ts';
import { entryAt, entryToBeAt, folderEntry } from './entries.ts';
import { moveFocusOff } from './follow.ts';
import type { Failed, Item, Under } from './operations.ts';

export type TransferKind = 'copy' | 'move';

/** One file or folder on its way. */
export interface Step extends Item {
  readonly destination: string;
  /** What is known of it, to be shown at once where it goes. */
  readonly entry: Entry | undefined;
}

/** Where a step went in the end; null where it was skipped. */
export type Arrival = { readonly path: string; readonly hasReplaced: boolean } | null;

/** Puts one step through; what it is called in the end may be another name than was wanted. */
export type Transport = (step: Step, under: Under) => Promise<Arrival>;

export interface StepsOutcome {
  readonly arrived: readonly { readonly step: Step; readonly path: string; readonly hasReplaced: boolean }[];
  readonly skipped: readonly Step[];
  readonly failed: readonly Failed<Step>[];
  readonly interrupted: readonly Step[];
  readonly left: readonly Step[];
}

export function stepOf(path: string, destination: string, entry: Entry | undefined): Step {
  const known = entry ?? (isFolderPath(path) ? folderEntry(path) : undefined);
  return { path, destination, entry: known, size: known?.type === 'file' ? known.size : undefined };
}

/**
 * Shows each step as done, asks the service, and puts back exactly what was not done. `isFree` says where nothing is
 * at the destination: what is there stays in sight until it is replaced.
 */
export async function perform(
  tools: Tools,
  kind: TransferKind,
  steps: readonly Step[],
  { title, isFree, transport }: { title: string; isFree: (step: Step) => boolean; transport: Transport },
): Promise<StepsOutcome> {
  const { folder, clipboard, operations } = tools;
  const sources = steps.map(({ path }) => path);
  const destinations = steps.map(({ destination }) => destination);
  const changes = steps.map((step): [Step, Change] => [
    step,
    changeOf(kind, step, isFree(step) ? entryToBeAt : undefined),
  ]);
  const pending = batch(() => {
    if (kind === 'move') moveFocusOff(folder, new Set(sources));
    return new Map(changes.map(([step, change]) => [step, folder.begin(change)]));
  });

  const touched =
    kind === 'copy' ? { read: sources, written: destinations } : { written: [...sources, ...destinations] };
  const { done, ...others } = await operations.perform(steps, { title, touched, work: transport });

  const arrived = done.flatMap(({ item, result }) => (result ? [{ step: item, ...result }] : []));
  batch(() => {
    for (const { step, path } of arrived) {
      folder.apply(changeOf(kind, { ...step, destination: path }, entryAt));
    }
    if (kind === 'move') clipboard.follow(new Map(arrived.map(({ step, path }) => [step.path, path])));
    for (const change of pending.values()) change.takeBack();
  });
  tools.refresh(
    // What came is not known to the letter; what left is, unless it did not leave.
    [...destinations.map(parentOf), ...(arrived.length < steps.length ? sources.map(parentOf) : [])],
    kind === 'move' ? sources : [],
  );
  return {
    ...others,
    arrived,
    skipped: done.flatMap(({ item, result }) => (result ? [] : [item])),
  };
}

function changeOf(
  kind: TransferKind,
  { path, destination, entry }: Step,
  at: ((path: string, entry: Entry) => Entry) | undefined,
): Change {
  const added = entry && at ? [at(destination, kind === 'copy' ? asOfNow(entry) : entry)] : [];
  return { removed: kind === 'move' ? [path] : [], added };
}

/** A copy is as new as its making. */
const asOfNow = (entry: Entry): Entry =>
  entry.type === 'file' ? { ...entry, modified: new Date().toISOString() } : entry;
