import { SignInFirst } from './access/sign-in-first.tsx';
import { useShortcuts } from './actions/shortcuts.ts';
import { OpenDialogs } from './controls/dialog.tsx';
import { Sprite } from './controls/icon.tsx';
import { OpenedMenu } from './controls/opened-menu.tsx';
import { DetailsPanel } from './details/details-panel.tsx';
import { DropHint } from './dragging/drop-hint.tsx';
import { FolderView } from './folder/folder-view.tsx';
import { MessageList } from './messages/message-list.tsx';
import { usePage } from './page.ts';
import { Preview } from './previews/preview.tsx';
import { ProblemBanner } from './shell/problem-banner.tsx';
import { Toolbar } from './shell/toolbar.tsx';
import { TopBar } from './shell/top-bar.tsx';
import { Tray } from './tray/tray.tsx';
import './app.css';

/** The page. Shows only the sign-in form if the user can see nothing without signing in. */
export function App() {
  const { account } = usePage();
  return account?.isShutOut ? <SignInFirst account={account} /> : <WholePage />;
}

function WholePage() {
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
      <OpenedMenu />
    </>
  );
}

/**
 * The elements above the lower edge: messages at the left, the upload tray at the right; on a phone, the tray is
 * below.
 */
function Floating() {
  const { location } = usePage();
  return (
    <div class="floating">
      {/* The preview shows the messages itself, because elements outside its modal dialog are inert. */}
      {location.place.value.preview === null && <MessageList />}
      <Tray />
    </div>
  );
}
