import { reportLoadFailure } from '../../model/messages.ts';
import { completeLanguage, useLanguage, useLanguageSignal } from '../../platform/text/language.ts';
import { Button, IconButton } from '../../ui/button.tsx';
import { useDialogs } from '../../ui/dialogs.tsx';
import { useLoaded } from '../../ui/loading.ts';
import mark from '../../ui/mark.svg';
import { useMedia, WIDE } from '../../ui/responsive.ts';
import { useMessages, usePlaces, usePreferences } from '../models.ts';
import './sidebar-slot.css';

/** The space of the sidebar in wide windows. Its content loads after the page, and moves nothing. */
export function SidebarSlot() {
  const { sidebar } = usePreferences();
  const isWide = useMedia(WIDE);
  const { text } = useLanguage();
  // Visitors have no sidebar.
  if (usePlaces() === null || !isWide || !sidebar.value) return null;
  return (
    <nav class="sidebar-slot sidebar" aria-label={text.shell.sidebar} data-region="sidebar">
      <LazySidebar />
    </nav>
  );
}

function LazySidebar() {
  const { text } = useLanguage();
  const language = useLanguageSignal();
  const loaded = useLoaded(() => Promise.all([import('./sidebar.tsx'), completeLanguage(language)]));
  if (loaded.state === 'loading') return null;
  if (loaded.state === 'failed') return <Button onClick={loaded.retry}>{text.controls.retry}</Button>;
  const [{ Sidebar }] = loaded.value;
  return <Sidebar />;
}

/** Shows or hides the sidebar; in narrow windows, opens it as a drawer. For visitors, the mark of the product. */
export function SidebarButton() {
  const { sidebar } = usePreferences();
  const isWide = useMedia(WIDE);
  const dialogs = useDialogs();
  const messages = useMessages();
  const { text } = useLanguage();
  const language = useLanguageSignal();
  if (usePlaces() === null) return <img class="mark" src={mark} alt="Holdall" draggable={false} />;

  const openDrawer = async (): Promise<void> => {
    try {
      const [{ openDrawer: open }] = await Promise.all([import('./drawer.tsx'), completeLanguage(language)]);
      if (dialogs.shown.value.length === 0) await open(dialogs);
    } catch {
      await reportLoadFailure({ messages, language }, () => void openDrawer());
    }
  };
  const toggle = () => {
    if (isWide) sidebar.value = !sidebar.value;
    else void openDrawer();
  };
  return (
    <IconButton
      icon="sidebar"
      label={text.shell.sidebar}
      {...(isWide && { pressed: sidebar.value })}
      onClick={toggle}
    />
  );
}
