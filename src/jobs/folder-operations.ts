import { type Static, Type } from 'typebox';
import type { FolderOperation, GuardedFiles } from '../access/guard.ts';
import { exists, isStoreError } from '../model/error.ts';
import { type FolderPath, nameOf, parseFolder } from '../model/path.ts';
import { defineKind, type JobContext, type JobKind } from './job.ts';
import { type FilesOfSubmitter, withChange } from './job-files.ts';
import { jobOutdated, type Scope, type Targets } from './targets.ts';

// Jobs that an earlier version stored lack `permanent`.
const Source = Type.Object({ source: Type.String(), permanent: Type.Optional(Type.Boolean()) });
const Transfer = Type.Object({ source: Type.String(), destination: Type.String(), overwrite: Type.Boolean() });

/** The kinds of jobs for folder operations, and the action that each stands for in the audit log. */
const TRANSFERS = {
  'copy-folder': 'copy folder',
  'move-folder': 'move folder',
  'rename-folder': 'rename folder',
} as const;

/** Returns the kind and the input of the job for an operation. */
export function folderJobOf(operation: FolderOperation): { readonly kind: string; readonly input: object } {
  if (operation.action === 'delete folder') {
    const { from: source, permanent } = operation;
    return { kind: 'delete-folder', input: { source, permanent } };
  }
  const { action, from: source, to: destination, replace: overwrite } = operation;
  return { kind: action.replace(' ', '-'), input: { source, destination, overwrite } };
}

/** Returns the kinds of folder operations. */
export function createFolderKinds(filesOf: FilesOfSubmitter, targets: Targets): readonly JobKind[] {
  const transfers = (Object.keys(TRANSFERS) as (keyof typeof TRANSFERS)[]).map((name) =>
    defineKind({
      name,
      input: Transfer,
      targetOf({ source, destination }) {
        return targets.ofFolders(parseFolder(source), parseFolder(destination));
      },
      run: (input, context) =>
        withChange(async (onRecorded) => {
          const operation = toOperation(name, input);
          const scope = await targets.scopeOf({ source: operation.from, destination: operation.to }, context);
          return runTransfer(filesOf(context.submitter, onRecorded), operation, { ...context, scope });
        }),
      confirm: (input, submitter) => filesOf(submitter).requireOperation(toOperation(name, input)),
    }),
  );
  const remove = defineKind({
    name: 'delete-folder',
    input: Source,
    targetOf: ({ source }) => targets.ofFolders(parseFolder(source)),
    run: ({ source, permanent }, { isResumed, submitter, signal, onProgress, ...attempt }) =>
      withChange(async (onRecorded) => {
        const folder = parseFolder(source);
        const files = filesOf(submitter, onRecorded);
        const { isSourceGone, identity, before } = await targets.scopeOf({ source: folder }, { ...attempt, isResumed });
        if (isSourceGone && (await files.folderExists(folder))) {
          if (!isResumed) throw jobOutdated(folder);
          // The last attempt deleted it, and other clients created another one.
          return {};
        }
        await files
          .deleteFolder(folder, { permanent, before, identity, signal, onProgress })
          .catch((error: unknown) => {
            // The last attempt deleted it, but ended before that was stored.
            if (!isResumed || !isStoreError(error, 'not-found')) throw error;
          });
        return {};
      }),
    confirm: ({ source, permanent = false }, submitter) =>
      filesOf(submitter).requireOperation({ action: 'delete folder', from: parseFolder(source), permanent }),
  });
  return [...transfers, remove];
}

type TransferOperation = Extract<FolderOperation, { readonly to: FolderPath }>;

function toOperation(name: keyof typeof TRANSFERS, input: Static<typeof Transfer>): TransferOperation {
  const { source, destination, overwrite } = input;
  return { action: TRANSFERS[name], from: parseFolder(source), to: parseFolder(destination), replace: overwrite };
}

type TransferContext = JobContext & { readonly scope: Scope };

async function runTransfer(
  files: GuardedFiles,
  operation: TransferOperation,
  context: TransferContext,
): Promise<object> {
  const { from, to, replace } = operation;
  try {
    await transfer(files, operation, context);
  } catch (error) {
    // Everything in the source came after the job.
    const mayBeOutdated = context.scope.before !== undefined && isStoreError(error, 'not-found');
    if (mayBeOutdated && (await files.folderExists(from))) throw jobOutdated(from, error);
    // The destination can be the work of an earlier attempt, which later changes make look like that of another client.
    const mayBeOwn = replace || context.scope.isDestinationChanged || context.checkpoint !== undefined;
    throw context.isResumed && mayBeOwn && isStoreError(error, 'already-exists') ? jobOutdated(to, error) : error;
  }
  return { path: to };
}

async function transfer(
  files: GuardedFiles,
  { action, from, to, replace }: TransferOperation,
  { isResumed, checkpoint, save, signal, onProgress, scope }: TransferContext,
): Promise<void> {
  const { isSourceGone, isDestinationChanged, before } = scope;
  // A destination that was created or replaced since is a copy of the last attempt, or belongs to another client.
  const options = { replace: replace && !isDestinationChanged, before, signal, onProgress };
  const isReplaced = isSourceGone && (await files.folderExists(from));
  if (isReplaced && !(isResumed && action !== 'copy folder' && (await files.folderExists(to)))) throw jobOutdated(from);
  // The last attempt moved everything, and other clients created another folder at the source.
  if (isReplaced) return;
  if (action === 'copy folder') {
    const saveNoDestination = () => save({ hadNoDestination: true });
    const attempt = {
      hadNoDestination: checkpoint !== undefined || isDestinationChanged,
      onNoDestination: saveNoDestination,
    };
    // `beforeUndo`: a process that has taken the job over relies on these copies.
    return await files.copyFolder(from, to, { ...options, attempt, beforeUndo: saveNoDestination });
  }
  try {
    if (action === 'move folder') await files.moveFolder(from, to, options);
    else await files.renameFolder(from, nameOf(to), options);
  } catch (error) {
    // The last attempt moved everything, but ended before that was stored.
    const mayBeMoved = isResumed && isStoreError(error, 'not-found');
    if (!mayBeMoved || !(await exists(files.list(to, { limit: 1 })))) throw error;
  }
}
