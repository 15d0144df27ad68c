import { effect, type ReadonlySignal } from '@preact/signals';
import type { Account } from '../../model/account/account.ts';
import type { Permissions } from '../../model/account/permissions.ts';
import type { ChangeContext } from '../../model/changes/change-context.ts';
import { createFolder } from '../../model/changes/create-folder.ts';
import { type Messages, reportLoadFailure } from '../../model/messages.ts';
import type { Uploads } from '../../model/uploads/uploads.ts';
import { ROOT } from '../../platform/paths.ts';
import type { Router } from '../../platform/router.ts';
import {
  deleteShare,
  deleteShares,
  readShare,
  type Share,
  type ShareState,
  storeShare,
  storeShareState,
} from '../../platform/shares.ts';
import { completeLanguage, type Language } from '../../platform/text/language.ts';

interface SaveModels {
  readonly account: Account | null;
  readonly context: ChangeContext;
  readonly language: ReadonlySignal<Language>;
  readonly messages: Messages;
  readonly permissions: Permissions;
  /** The URL of the service. */
  readonly root: string;
  readonly router: Router;
  readonly uploads: Uploads;
}

/** Asks where to save what another app has shared, and uploads it. Nothing is saved before the user has chosen a folder. */
export async function saveReceived(models: SaveModels, id: string): Promise<void> {
  const { account, messages, permissions, root } = models;
  const { text } = (await completeLanguage(models.language)).value;
  const read = () => readShare(root, id, account?.username.value ?? null).catch(() => undefined);
  let share = await read();
  const mustSignIn = account?.canSignIn && account.username.value === null && !permissions.allows('write');
  if (share && mustSignIn) {
    if (!(await account.requestSignIn())) return;
    share = await read();
  }
  if (share && filesOf(share, text.received.textName).length > 0) return askForFolder(models, share);
  forgetUrl();
  const { missing, tooLarge, tooMany } = text.received;
  const discard = { label: text.editor.discard, run: () => void deleteShares(root).catch(() => {}) };
  if (id === 'too-many') messages.show({ kind: 'error', text: tooMany, action: discard });
  else messages.show({ kind: 'error', text: id === 'too-large' ? tooLarge : missing });
}

/** Offers to save a share again whose uploads did not end before their page was closed. */
export async function offerUnfinished(models: SaveModels, state: ShareState): Promise<void> {
  const { messages, root } = models;
  const { text } = (await completeLanguage(models.language)).value;
  // Another page can still be uploading it.
  const isUploading = await navigator.locks.request(LOCK + state.id, { ifAvailable: true }, async (lock) => !lock);
  const share = isUploading ? undefined : await readShare(root, state.id, state.username);
  if (!share) return;
  const names = filesOf(share, text.received.textName).map(({ name }) => name);
  const shown: number = messages.show({
    kind: 'error',
    text: text.uploads.unfinished({ count: names.length }),
    detail: names.slice(0, MAX_LISTED_NAMES).join('\n'),
    action: {
      label: text.controls.retry,
      run() {
        messages.dismiss(shown);
        askForFolder(models, share, state.folder ?? ROOT).catch(() => reportLoadFailure(models));
      },
    },
  });
}

/** The maximum number of names that a message lists. */
const MAX_LISTED_NAMES = 20;

async function askForFolder(models: SaveModels, share: Share, start?: string): Promise<void> {
  const { account, context, messages, root, router } = models;
  const { text } = (await completeLanguage(models.language)).value;
  const files = filesOf(share, text.received.textName);
  const folder = await context.prompts.pickFolder({
    kind: 'save',
    paths: [],
    files,
    start: start ?? context.folder.path.value,
    create: (path) => createFolder(context, path),
  });
  forgetUrl();
  if (folder === null) {
    await deleteShare(root, share.id).catch(() => {});
    const undo = async () => {
      messages.dismiss(shown);
      // If the files can't be stored again, they are still in memory.
      if (!(await storeShare(root, share).catch(() => false))) return askForFolder(models, share, start);
      showInUrl(share.id);
      await saveReceived(models, share.id);
    };
    const shown: number = messages.show({
      kind: 'done',
      text: text.received.discarded({ count: files.length, name: files[0]?.name ?? '' }),
      action: { label: text.controls.undo, run: () => void undo().catch(() => reportLoadFailure(models)) },
    });
    return;
  }
  const { id } = share;
  const state = { id, username: account?.username.value ?? null, folder };
  await storeShareState(root, state).catch(() => {});
  void navigator.locks
    .request(LOCK + id, () => uploaded(models, files, folder))
    .then(() => deleteShare(root, id))
    .catch(() => {});
  router.openFolder(folder || ROOT);
}

/** The prefix of the names of the locks that pages hold while they upload a share. */
const LOCK = 'holdall-share-';

/** Uploads files, and waits until they are stored, or the user has discarded their uploads. */
async function uploaded({ uploads }: SaveModels, files: readonly File[], folder: string): Promise<void> {
  const names = new Set(files.map(({ name }) => name));
  uploads.add(files.map((file) => ({ file, folder, name: file.name })));
  const { promise, resolve } = Promise.withResolvers<void>();
  const dispose = effect(() => {
    const items = uploads.model.value?.items.value;
    const canContinue = items?.some(
      (item) => item.folder === folder && names.has(item.name) && ['failed', 'interrupted'].includes(item.state.value),
    );
    if (items && !canContinue && !uploads.isBusy.value) resolve();
  });
  await promise;
  dispose();
}

/** Removes the share from the URL, so that a reload shows no dialog. */
function forgetUrl(): void {
  const url = new URL(window.location.href);
  url.searchParams.delete('shared');
  history.replaceState(history.state, '', url);
}

function showInUrl(id: string): void {
  const url = new URL(window.location.href);
  url.searchParams.set('shared', id);
  history.replaceState(history.state, '', url);
}

/** The longest name of a text file, without its extension. */
const MAX_NAME_LENGTH = 80;

/** Returns the files of a share; without files, its text and link as a text file. */
export function filesOf({ files, title, text, url }: Share, textName: string): readonly File[] {
  if (files.length > 0) return files;
  const lines = [...new Set([text.trim(), url.trim()].filter((line) => line !== ''))];
  if (lines.length === 0) return [];
  return [new File([`${lines.join('\n')}\n`], `${nameOf(title) || textName}.txt`, { type: 'text/plain' })];
}

/** Returns a title as a name of a file: one line, without dots and the characters that Windows or a path don't allow. */
function nameOf(title: string): string {
  const name = Array.from(title.replaceAll(/[\p{Cc}\s.\\/:*?"<>|]+/gu, ' '));
  return name.slice(0, MAX_NAME_LENGTH).join('').trim();
}
