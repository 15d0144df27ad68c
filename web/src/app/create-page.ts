import { computed, effect, type ReadonlySignal, untracked } from '@preact/signals';
import { createAccess } from '../model/account/access.ts';
import type { AccountPrompts } from '../model/account/account.ts';
import { createChanges } from '../model/changes/changes.ts';
import { createClipboard } from '../model/clipboard.ts';
import { createTurns } from '../model/path-locks.ts';
import { createDialogs, type Dialogs } from '../ui/dialogs.ts';
import { createMenus } from '../ui/menus.ts';
import { createDetails } from '../model/details.ts';
import { createDragging } from '../features/dragging/dragging.ts';
import type { Embedded } from '../platform/embedded.ts';
import { createFolder } from '../model/folder/folder.ts';
import { createLocation } from '../platform/router.ts';
import { createMessages } from '../model/messages.ts';
import type { Page } from '../features/page.ts';
import { createPreferences } from '../platform/preferences.ts';
import { createSelection } from '../model/selection.ts';
import { createUrls } from '../platform/service/urls.ts';
import { loadCatalogue } from '../platform/text/catalogues.ts';
import { completeLanguage, createLanguage, type Language } from '../platform/text/language.ts';
import { askBeforeLeaving } from './ask-before-leaving.ts';
import { takePastedFiles } from '../features/dragging/pasted-files.ts';
import { createUploads } from '../model/uploads/uploads.ts';

/**
 * Creates the page's models once the texts of the language are loaded. Their listeners stay for the lifetime of the
 * page. Rejects if the texts can't be loaded.
 */
export async function createPage(embedded: Embedded): Promise<Page> {
  const { folder: path, answer, maxUploadSize } = embedded;
  const urls = createUrls(new URL(embedded.base, window.location.href.replace(/[?#].*$/s, '')));
  const preferences = createPreferences(storage());
  const language = await createLanguage({ preferences, requested: navigator.languages, loadCatalogue });
  const asked = new URL(window.location.href).searchParams;
  const preview = asked.get('preview');
  const location = createLocation(urls, { folder: path, preview: preview ? path + preview : null });
  const compareNames = computed(() => language.value.formats.compareNames);
  const messages = createMessages();
  const dialogs = createDialogs();
  const isBusy = (): boolean => uploads.isBusy.value || changes.running.value.length > 0;
  const { account, rights, service } = createAccess({
    embedded,
    location,
    urls,
    prompts: accountPrompts(dialogs, language),
    messages,
    language,
    isBusy,
  });
  const folder = createFolder(service, { order: preferences.order, compareNames }, { path, answer });
  // With these parameters, the embedded listing is only one part of the folder, made for browsers without scripts.
  if (asked.has('cursor') || asked.has('limit')) void folder.refresh();
  const loadPrompts = async () => (await import('../features/dialogs/dialog-prompts.tsx')).createDialogPrompts(dialogs);
  const shared = { service, folder, messages, loadPrompts, turns: createTurns(), rights, language };

  const menus = createMenus();
  location.closeBeforeGoing(() => {
    const isMenu = menus.shown.value !== null;
    const dialog = dialogs.shown.value.at(-1);
    if (isMenu) menus.close();
    else dialog?.leave();
    return isMenu || dialog !== undefined;
  });
  const selection = createSelection(folder);
  const clipboard = createClipboard();
  const changes = createChanges({ ...shared, selection, clipboard });
  const uploads = createUploads({ ...shared, selection, location, maxUploadSize });

  takePastedFiles({ uploads, folder, messages, language, rights });
  askBeforeLeaving(computed(() => isBusy() && !account?.isLeaving.value));
  effect(() => {
    const { folder: next } = location.place.value;
    untracked(() => folder.open(next));
  });
  // After signing in as another user, the permissions and the visible entries may differ.
  effect(() => {
    if (account && account.times.value > 0 && !account.isShutOut) untracked(() => void folder.refresh());
  });
  return {
    urls,
    service,
    preferences,
    language,
    location,
    folder,
    selection,
    clipboard,
    changes,
    uploads,
    dragging: createDragging({ folder, location, selection, changes, uploads, messages, urls, language, rights }),
    details: createDetails(),
    messages,
    dialogs,
    menus,
    rights,
    account,
  };
}

/** Creates the questions about signing in and out. Their dialogs are loaded when they are needed. */
function accountPrompts(dialogs: Dialogs, language: ReadonlySignal<Language>): AccountPrompts {
  return {
    async signIn(options) {
      const [{ askToSignIn }] = await Promise.all([import('../features/sign-in/sign-in-dialog.tsx'), completeLanguage(language)]);
      await askToSignIn(dialogs, options);
    },
    async confirmSignOut() {
      const { askWhetherToSignOut } = await import('../features/sign-in/sign-out-question.tsx');
      return askWhetherToSignOut(dialogs);
    },
  };
}

/** Returns the local storage; undefined if the browser denies access to it. */
function storage(): Storage | undefined {
  try {
    return window.localStorage;
  } catch {
    return undefined;
  }
}
