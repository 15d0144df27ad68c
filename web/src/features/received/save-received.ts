import type { ReadonlySignal } from '@preact/signals';
import type { Account } from '../../model/account/account.ts';
import type { Permissions } from '../../model/account/permissions.ts';
import type { ChangeContext } from '../../model/changes/change-context.ts';
import { createFolder } from '../../model/changes/create-folder.ts';
import type { Messages } from '../../model/messages.ts';
import type { Uploads } from '../../model/uploads/uploads.ts';
import { ROOT } from '../../platform/paths.ts';
import type { Router } from '../../platform/router.ts';
import { deleteShare, readShare, type Share } from '../../platform/shares.ts';
import { completeLanguage, type Language } from '../../platform/text/language.ts';

interface SaveModels {
  readonly account: Account | null;
  readonly context: ChangeContext;
  readonly language: ReadonlySignal<Language>;
  readonly messages: Messages;
  readonly permissions: Permissions;
  readonly router: Router;
  readonly uploads: Uploads;
}

/** Asks where to save what another app has shared, and uploads it. Nothing is saved before the user has chosen a folder. */
export async function saveReceived(models: SaveModels, { root, id }: { root: string; id: string }): Promise<void> {
  const { account, context, messages, permissions, router, uploads } = models;
  const { text } = (await completeLanguage(models.language)).value;
  const share = await readShare(root, id).catch(() => undefined);
  const files = share ? filesOf(share, text.received.textName) : [];
  if (files.length === 0) {
    const reason = id === 'too-large' ? text.received.tooLarge : text.received.missing;
    messages.show({ kind: 'error', text: reason });
    return forgetUrl();
  }
  const mustSignIn = account?.canSignIn && account.username.value === null && !permissions.allows('write');
  if (mustSignIn && !(await account.requestSignIn())) return;
  const folder = await context.prompts.pickFolder({
    kind: 'save',
    paths: [],
    files,
    start: context.folder.path.value,
    create: (path) => createFolder(context, path),
  });
  forgetUrl();
  if (folder !== null) {
    uploads.add(files.map((file) => ({ file, folder, name: file.name })));
    router.openFolder(folder || ROOT);
  }
  await deleteShare(root, id);
}

/** Removes the share from the URL, so that a reload shows no dialog. */
function forgetUrl(): void {
  const url = new URL(window.location.href);
  url.searchParams.delete('shared');
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
