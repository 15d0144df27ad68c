import { computed, effect, untracked } from '@preact/signals';
import { createActions } from '../features/actions/actions.ts';
import { createDragging } from '../features/dragging/dragging.ts';
import { takePastedFiles } from '../features/dragging/pasted-files.ts';
import { createAccess } from '../model/account/access.ts';
import type { AccountPrompts } from '../model/account/account.ts';
import { createBusyRegistry } from '../model/busy-registry.ts';
import { createChanges } from '../model/changes/changes.ts';
import { createClipboard } from '../model/clipboard.ts';
import { createDetails } from '../model/details.ts';
import { createFolder } from '../model/folder/folder.ts';
import { createMessages } from '../model/messages.ts';
import { createPathLocks } from '../model/path-locks.ts';
import { createSelection } from '../model/selection.ts';
import { createUploads } from '../model/uploads/uploads.ts';
import type { Embedded } from '../platform/embedded.ts';
import { createPreferences } from '../platform/preferences.ts';
import { createRouter } from '../platform/router.ts';
import { createUrls } from '../platform/service/urls.ts';
import { loadCatalogue } from '../platform/text/catalogues.ts';
import { createLanguage } from '../platform/text/language.ts';
import { createDialogs, type Dialogs } from '../ui/dialogs.ts';
import { createMenus } from '../ui/menus.ts';
import { askBeforeLeaving } from './ask-before-leaving.ts';
import type { Page } from './page.ts';

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
  const router = createRouter(urls, { folder: path, preview: preview ? path + preview : null });
  const compareNames = computed(() => language.value.formats.compareNames);
  const messages = createMessages();
  const dialogs = createDialogs();
  const busy = createBusyRegistry();
  const { account, permissions, service } = createAccess({
    embedded,
    router,
    urls,
    prompts: accountPrompts(dialogs),
    messages,
    language,
    isBusy: () => busy.isBusy.value,
  });
  const folder = createFolder(service, { order: preferences.order, compareNames }, { path, answer });
  // With these parameters, the embedded listing is only one part of the folder, made for browsers without scripts.
  if (asked.has('cursor') || asked.has('limit')) void folder.refresh();
  const loadPrompts = async () => (await import('../features/dialogs/dialog-prompts.tsx')).createDialogPrompts(dialogs);
  const shared = { service, folder, messages, loadPrompts, pathLocks: createPathLocks(), permissions, language };

  const menus = createMenus();
  router.closeBeforeNavigating(() => {
    const isMenu = menus.shown.value !== null;
    const dialog = dialogs.shown.value.at(-1);
    if (isMenu) menus.close();
    else dialog?.leave();
    return isMenu || dialog !== undefined;
  });
  const selection = createSelection(folder);
  const clipboard = createClipboard();
  const changes = createChanges({ ...shared, selection, clipboard });
  const uploads = createUploads({ ...shared, selection, router, maxUploadSize });

  busy.register(() => uploads.isBusy.value || changes.running.value.length > 0);

  takePastedFiles({ uploads, folder, messages, language, permissions });
  askBeforeLeaving(computed(() => busy.isBusy.value && !account?.isReloading.value));
  effect(() => {
    const { folder: next } = router.route.value;
    untracked(() => folder.open(next));
  });
  // After signing in as another user, the permissions and the visible entries may differ.
  effect(() => {
    if (account && account.signInCount.value > 0 && !account.isSignInPage) untracked(() => void folder.refresh());
  });
  const details = createDetails();
  const actions = createActions(
    {
      account,
      changes,
      clipboard,
      details,
      folder,
      language,
      messages,
      permissions,
      router,
      selection,
      service,
      uploads,
      urls,
    },
    menus,
  );
  return {
    actions,
    urls,
    service,
    preferences,
    language,
    router,
    folder,
    selection,
    clipboard,
    changes,
    uploads,
    dragging: createDragging({ folder, router, selection, changes, uploads, messages, urls, language, permissions }),
    details,
    messages,
    dialogs,
    menus,
    permissions,
    account,
  };
}

/** Creates the questions about signing in and out. Their dialogs are loaded when they are needed. */
function accountPrompts(dialogs: Dialogs): AccountPrompts {
  return {
    async signIn(options) {
      const { showSignInDialog } = await import('../features/sign-in/sign-in-dialog.tsx');
      await showSignInDialog(dialogs, options);
    },
    async confirmSignOut() {
      const { confirmSignOut } = await import('../features/sign-in/sign-out-question.tsx');
      return confirmSignOut(dialogs);
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
