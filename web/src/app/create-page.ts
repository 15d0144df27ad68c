import { computed, type ReadonlySignal, signal } from '@preact/signals';
import { type Actions, createActions } from '../features/actions/actions.ts';
import type { Dragging } from '../features/dragging/drag-state.ts';
import { createDragging } from '../features/dragging/dragging.ts';
import { NameField } from '../features/folder/lazy-name-field.ts';
import { preloadView } from '../features/folder/views.ts';
import type { Details, Retention } from '../features/models.ts';
import type { Account } from '../model/account/account.ts';
import { createPermissions, type Permissions } from '../model/account/permissions.ts';
import { type Changes, createChanges } from '../model/changes/changes.ts';
import { type Clipboard, createClipboard } from '../model/clipboard.ts';
import { createDav, type Dav } from '../model/dav.ts';
import { createFolder, type Folder } from '../model/folder/folder.ts';
import { createLinks, type Links } from '../model/links/links.ts';
import { createMessages, type Messages, reportLoadFailure } from '../model/messages.ts';
import { createPlaces, type Places } from '../model/places/places.ts';
import { createSelection, type Selection } from '../model/selection.ts';
import { createUploads, type Uploads } from '../model/uploads/uploads.ts';
import type { Visit } from '../model/visit/visit.ts';
import type { Embedded } from '../platform/embedded.ts';
import { isAlbum } from '../platform/file-kinds.ts';
import { createPreferences, type Preferences } from '../platform/preferences.ts';
import { createRouter, type Router } from '../platform/router.ts';
import { createService, type Service } from '../platform/service/service.ts';
import { createUrls, type Urls } from '../platform/service/urls.ts';
import { createLanguage, type Language } from '../platform/text/language.ts';
import { loadCatalogue } from '../platform/text/supported-languages.ts';
import { createDialogs, type Dialogs } from '../ui/dialogs.tsx';
import { createMenus, type Menus } from '../ui/menus.tsx';
import type { UserAccess } from './user-access.ts';
import type { OpenedLink } from './visit.tsx';

/** The models of the page. Only `app/` knows all of them. */
export interface Page extends Partial<Pick<OpenedLink, 'VisitPage'>> {
  /** Null without access control. */
  readonly account: Account | null;
  readonly actions: Actions;
  readonly changes: Changes;
  readonly clipboard: Clipboard;
  /** The cursor of the change feed from before the first listing; undefined if it is unknown. */
  readonly cursor: string | undefined;
  /** Null if there are no locks, and on the pages of visitors. */
  readonly dav: Dav | null;
  readonly details: Details;
  readonly dialogs: Dialogs;
  readonly dragging: Dragging;
  readonly folder: Folder;
  /** Whether the service moves deleted files and folders to a trash. */
  readonly hasTrash: boolean;
  /** Whether work is in progress that leaving the page would cancel. */
  readonly isBusy: ReadonlySignal<boolean>;
  readonly language: ReadonlySignal<Language>;
  /** Null if users can't share files and folders by links. */
  readonly links: Links | null;
  readonly menus: Menus;
  readonly messages: Messages;
  readonly permissions: Permissions;
  /** Null on the pages of visitors. */
  readonly places: Places | null;
  readonly preferences: Preferences;
  readonly retention: Retention;
  readonly stills: Embedded['stills'];
  readonly router: Router;
  readonly selection: Selection;
  readonly service: Service;
  readonly uploads: Uploads;
  readonly urls: Urls;
  /** Null on the pages of users. */
  readonly visit: Visit | null;
}

/**
 * Creates the page's models once the texts of the language are loaded. Their listeners stay for the lifetime of the
 * page. Rejects if the texts can't be loaded.
 */
export async function createPage(embedded: Embedded): Promise<Page> {
  const { cursor, folder: path, link } = embedded;
  const urls = createUrls(new URL(embedded.base, window.location.href.replace(/[?#].*$/s, '')));
  const stored = createPreferences(localStorageIfAllowed());
  if (link === undefined) preloadFirstView(embedded, stored);
  const messages = createMessages();
  const loadingLanguage: Promise<ReadonlySignal<Language>> = createLanguage({
    preferences: stored,
    requested: navigator.languages,
    loadCatalogue,
    rootName: link?.label || link?.name,
    onLoadFailure: (retry) => void loadingLanguage.then((language) => reportLoadFailure({ messages, language }, retry)),
  });
  // Services without users never load the code of accounts.
  const [language, userAccess] = await Promise.all([loadingLanguage, embedded.access && import('./user-access.ts')]);
  const query = new URL(window.location.href).searchParams;
  const preview = query.get('preview');
  const links = embedded.links && embedded.link === undefined ? createLinks() : null;
  const { view } = urls.routeOf(new URL(window.location.href));
  const isServed = { trash: embedded.trash !== null, recent: link === undefined, links: links !== null };
  const first = { folder: path, preview: preview ? path + preview : null, view: view && isServed[view] ? view : null };
  const router = createRouter(urls, first);
  const dialogs = createDialogs();
  const menus = createMenus(() => void reportLoadFailure({ messages, language }));
  router.closeBeforeNavigating(() => closeTopmost(menus, dialogs));

  const busy = createBusyRegistry();
  const { isBusy } = busy;
  const base = { embedded, urls, messages, language, isBusy: () => isBusy.value };
  const shown = computed(() => router.route.value.folder);
  const opened =
    link === undefined
      ? undefined
      : await (await import('./visit.tsx')).openLink({ ...base, shown, dialogs, preferences: stored });
  const createUser = userAccess && userAccess.userAccessOf({ ...base, shown, dialogs });
  const { account, permissions, service } = opened ?? createAccess({ ...base, shown, createUser });
  const preferences = opened?.preferences ?? stored;
  const { response, maxUploadSize, trash, keepsVersions } = opened?.embedded ?? embedded;
  const hasTrash = trash !== null;
  const visit = opened?.visit ?? null;
  const compareNames = computed(() => language.value.formats.compareNames);
  const folder = createFolder(service, { order: preferences.order, compareNames }, { path, response });
  // With these parameters, the embedded listing is only one part of the folder, made for browsers without scripts.
  if (query.has('cursor') || query.has('limit')) void folder.refresh();
  const selection = createSelection(folder);
  const storage = localStorageIfAllowed();
  const places = visit ? null : createPlaces({ urls, storage, username: account?.username });
  const clipboard = createClipboard((newPaths) => places?.remapPaths(newPaths));
  const details: Details = { isOpen: signal(false), feedListeners: new Set() };
  const loadPrompts = async () => (await import('../features/dialogs/dialog-prompts.tsx')).createDialogPrompts(dialogs);
  const shared = { service, folder, messages, loadPrompts, permissions, language };
  const changes = createChanges({ ...shared, account, selection, clipboard, hasTrash, hasJobs: visit === null });
  const username = account?.lastUsername;
  const owner = visit ? null : { endpoint: urls.endpoint('-/uploads'), storage, username };
  const uploads = createUploads({ ...shared, changes, selection, router, maxUploadSize, owner });
  busy.register(() => uploads.isBusy.value || changes.running.value.some(({ needsPage }) => needsPage.value));

  const models = {
    account,
    changes,
    clipboard,
    cursor,
    dav: createDav(embedded),
    details,
    dialogs,
    folder,
    hasTrash,
    language,
    links,
    loadNameField: NameField.load,
    messages,
    permissions,
    places,
    retention: { trash, keepsVersions },
    stills: embedded.stills,
    router,
    selection,
    service,
    uploads,
    urls,
    visit,
  };
  const actions = createActions(models, menus, opened?.actions);
  const dragging = createDragging(models);
  return { ...models, actions, dragging, isBusy, menus, preferences, VisitPage: opened?.VisitPage };
}

/** Loads the code of the view in which the folder will be shown, while the texts load. */
function preloadFirstView({ folder: path, response }: Embedded, preferences: Preferences): void {
  if (response instanceof Error) return;
  preferences.openFolder(path, isAlbum(response.entries));
  preloadView(preferences.view.peek());
}

/** Knows whether work is in progress that leaving the page would cancel. */
interface BusyRegistry {
  readonly isBusy: ReadonlySignal<boolean>;
  /** Adds a kind of work. `isBusy` reads signals. */
  register(isBusy: () => boolean): void;
}

function createBusyRegistry(): BusyRegistry {
  const sources = signal<readonly (() => boolean)[]>([]);
  return {
    isBusy: computed(() => sources.value.some((isBusy) => isBusy())),
    register(isBusy) {
      sources.value = [...sources.value, isBusy];
    },
  };
}

interface AccessOptions {
  readonly embedded: Embedded;
  readonly urls: Urls;
  /** The path of the shown folder. */
  readonly shown: ReadonlySignal<string>;
  /** Null without access control. */
  readonly createUser: ((permissions: Permissions, service: Service) => UserAccess) | null;
}

/** The permissions of the user, and the service as the user can access it. */
function createAccess({ embedded, urls, shown, createUser }: AccessOptions): UserAccess {
  const { response, readOnly: isReadOnly, uploadPartBytes } = embedded;
  let account: Account | null = null;
  const isAnonymous = () => account?.lastUsername.value === null;
  const permissions = createPermissions({ isReadOnly, isControlled: createUser !== null, isAnonymous, shown });
  if (!(response instanceof Error)) permissions.update(response);
  const service = createService(urls, { uploadPartBytes, storage: localStorageIfAllowed() });
  if (!createUser) return { account, permissions, service };
  const user = createUser(permissions, service);
  account = user.account;
  return user;
}

/** Closes the open menu or the topmost dialog. Returns false if there is none. */
function closeTopmost(menus: Menus, dialogs: Dialogs): boolean {
  const isMenuOpen = menus.shown.value !== null;
  const dialog = dialogs.shown.value.at(-1);
  if (isMenuOpen) menus.close();
  else dialog?.dismiss();
  return isMenuOpen || dialog !== undefined;
}

/** Returns the local storage; undefined if the browser denies access to it. */
function localStorageIfAllowed(): Storage | undefined {
  try {
    return window.localStorage;
  } catch {
    return undefined;
  }
}
