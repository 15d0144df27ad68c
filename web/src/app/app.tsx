import { useShortcuts } from '../features/actions/shortcuts.ts';
import { DetailsPanel } from '../features/details/details-panel.tsx';
import { DropHint } from '../features/dragging/drop-hint.tsx';
import { FolderView } from '../features/folder/folder-view.tsx';
import { MessageList } from '../features/messages/message-list.tsx';
import { useAccount, useMessages, useRouter } from '../features/models.ts';
import { LazySignInPage } from '../features/sign-in/lazy-sign-in-page.tsx';
import { ProblemBanner } from '../features/toolbar/problem-banner.tsx';
import { Toolbar } from '../features/toolbar/toolbar.tsx';
import { TopBar } from '../features/toolbar/top-bar.tsx';
import { Tray } from '../features/tray/tray.tsx';
import { Preview } from '../features/viewer/preview.tsx';
import { reportLoadFailure } from '../model/messages.ts';
import { useLanguageSignal } from '../platform/text/language-context.ts';
import { OpenDialogs } from '../ui/dialog.tsx';
import { Sprite } from '../ui/icon.tsx';
import { OpenedMenu } from '../ui/opened-menu.tsx';
import './app.css';

/** The page. Shows only the sign-in form if the user can see nothing without signing in. */
export function App() {
  const account = useAccount();
  return account?.isSignInPage ? <LazySignInPage account={account} /> : <WholePage />;
}

function WholePage() {
  const messages = useMessages();
  const language = useLanguageSignal();
  const onNotLoaded = () => void reportLoadFailure({ messages, language });
  useShortcuts();
  return (
    <>
      <Sprite />
      <div class="page">
        <TopBar />
        <main>
          <Toolbar />
          <ProblemBanner />
          <div class="content">
            <FolderView />
          </div>
        </main>
        <DetailsPanel />
      </div>
      <DropHint />
      <Preview />
      <Floating />
      <OpenDialogs />
      <OpenedMenu onNotLoaded={onNotLoaded} />
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
