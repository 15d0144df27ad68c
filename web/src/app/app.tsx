import type { ComponentChildren, VNode } from 'preact';
import { ActionsProvider } from '../features/actions/actions.ts';
import { usePaste } from '../features/actions/paste.ts';
import { useShortcuts } from '../features/actions/shortcuts.ts';
import { DetailsPanel } from '../features/details/details-panel.tsx';
import { DraggingProvider } from '../features/dragging/dragging.ts';
import { LazyDropHint } from '../features/dragging/lazy-drop-hint.tsx';
import { FolderView } from '../features/folder/folder-view.tsx';
import { useFolderStates } from '../features/folder/lazy-states.tsx';

import { MessageList } from '../features/messages/message-list.tsx';
import {
  AccountProvider,
  ChangesProvider,
  ClipboardProvider,
  DavProvider,
  DetailsProvider,
  FolderProvider,
  LinksProvider,
  MessagesProvider,
  PermissionsProvider,
  PlacesProvider,
  PreferencesProvider,
  RetentionProvider,
  RouterProvider,
  SelectionProvider,
  ServiceProvider,
  StillsProvider,
  UploadsProvider,
  UrlsProvider,
  useFolder,
  useRouter,
  VisitProvider,
} from '../features/models.ts';
import { SidebarSlot } from '../features/sidebar/sidebar-slot.tsx';
import { Toolbar } from '../features/toolbar/toolbar.tsx';
import { TopBar } from '../features/toolbar/top-bar.tsx';
import { Tray } from '../features/tray/tray.tsx';
import { Preview } from '../features/viewer/preview.tsx';
import type { Account } from '../model/account/account.ts';
import type { Provider } from '../platform/required-context.ts';
import type { PageView } from '../platform/service/urls.ts';
import { completeLanguage, LanguageProvider, useLanguage, useLanguageSignal } from '../platform/text/language.ts';
import { Button } from '../ui/button.tsx';
import { DialogHost, DialogsProvider } from '../ui/dialogs.tsx';
import { Sprite } from '../ui/icon.tsx';
import { useLoaded } from '../ui/loading.ts';
import { MenuHost } from '../ui/menu-host.tsx';
import { MenusProvider } from '../ui/menus.tsx';
import type { Page } from './create-page.ts';
import './app.css';

/** The page. Shows only the sign-in form if the user can see nothing without signing in. */
export function App({ page }: { page: Page }) {
  const { account, VisitPage } = page;
  const content = VisitPage ? (
    <VisitPage WholePage={WholePage} />
  ) : account?.isSignInPage ? (
    <LazyPage load={() => loadSignInPage(account)} />
  ) : (
    <WholePage />
  );
  return providersOf(page).reduceRight((children, provide) => provide(children), content);
}

async function loadSignInPage(account: Account): Promise<() => VNode> {
  const { SignInPage } = await import('../features/sign-in/sign-in-page.tsx');
  return () => <SignInPage account={account} />;
}

/** The lists that the page shows instead of a folder. */
const VIEWS: Readonly<Record<PageView, () => Promise<() => VNode>>> = {
  async trash() {
    const { TrashView } = await import('../features/trash/trash-view.tsx');
    return () => <TrashView />;
  },
  async recent() {
    const { RecentView } = await import('../features/sidebar/recent-view.tsx');
    return () => <RecentView />;
  },
  async links() {
    const { LinksView } = await import('../features/links/links-view.tsx');
    return () => <LinksView />;
  },
};

/** Loads a component and the texts of lazily loaded code, and shows it. */
function LazyPage({ load }: { load: () => Promise<() => VNode> }) {
  const { text } = useLanguage();
  const language = useLanguageSignal();
  const loaded = useLoaded(() => Promise.all([load(), completeLanguage(language)]));
  if (loaded.state === 'ready') return loaded.value[0]();
  if (loaded.state === 'loading') return null;
  return (
    <main class="state">
      <p class="title" role="alert">
        {text.problems.unreachable}
      </p>
      <Button onClick={loaded.retry}>{text.controls.retry}</Button>
    </main>
  );
}

function WholePage() {
  const router = useRouter();
  const { view } = router.route.value;
  return (
    <>
      <Sprite />
      <div class="page">
        <SidebarSlot />
        {view ? <LazyPage key={view} load={VIEWS[view]} /> : <FolderPage />}
      </div>
      <LazyDropHint />
      <Preview />
      <Floating />
      <DialogHost />
      <MenuHost />
    </>
  );
}

function FolderPage() {
  const states = useFolderStates(useFolder().problem.value !== null);
  useShortcuts();
  usePaste();
  return (
    <>
      <TopBar />
      <main>
        <Toolbar />
        {states && <states.ProblemBanner />}
        <div class="content">
          <FolderView />
        </div>
      </main>
      <DetailsPanel />
    </>
  );
}

/**
 * The elements above the lower edge: messages at the left, the upload tray at the right; on a phone, the tray is
 * below.
 */
function Floating() {
  const router = useRouter();
  return (
    <div class="floating">
      {/* The preview shows the messages itself, because elements outside its modal dialog are inert. */}
      {router.route.value.preview === null && <MessageList />}
      <Tray />
    </div>
  );
}

/** Returns functions that each provide one model to their content. */
function providersOf(page: Page) {
  return [
    provider(AccountProvider, page.account),
    provider(ActionsProvider, page.actions),
    provider(ChangesProvider, page.changes),
    provider(ClipboardProvider, page.clipboard),
    provider(DavProvider, page.dav),
    provider(DetailsProvider, page.details),
    provider(DialogsProvider, page.dialogs),
    provider(DraggingProvider, page.dragging),
    provider(FolderProvider, page.folder),
    provider(LanguageProvider, page.language),
    provider(LinksProvider, page.links),
    provider(MenusProvider, page.menus),
    provider(MessagesProvider, page.messages),
    provider(PermissionsProvider, page.permissions),
    provider(PlacesProvider, page.places),
    provider(PreferencesProvider, page.preferences),
    provider(RetentionProvider, page.retention),
    provider(StillsProvider, page.stills),
    provider(RouterProvider, page.router),
    provider(SelectionProvider, page.selection),
    provider(ServiceProvider, page.service),
    provider(UploadsProvider, page.uploads),
    provider(UrlsProvider, page.urls),
    provider(VisitProvider, page.visit),
  ];
}

function provider<Value>(Provide: Provider<Value>, value: Value) {
  return (content: ComponentChildren): VNode => <Provide value={value}>{content}</Provide>;
}
