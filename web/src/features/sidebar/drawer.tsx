import { useLanguage } from '../../platform/text/language.ts';
import type { Dialogs } from '../../ui/dialogs.tsx';
import { useModalDialog } from '../../ui/modal.ts';
import { Sidebar } from './sidebar.tsx';
import './sidebar-slot.css';

/** Shows the sidebar above the page. Resolves when it closes: by a choice, Escape, the back gesture or a click outside. */
export async function openDrawer(dialogs: Dialogs): Promise<void> {
  await dialogs.open<never>((close) => <Drawer close={() => close(null)} />);
}

function Drawer({ close }: { close: () => void }) {
  const { dialog, listeners } = useModalDialog(close);
  const { text } = useLanguage();
  return (
    <dialog ref={dialog} class="drawer" aria-label={text.shell.sidebar} {...listeners}>
      <div class="sidebar-slot sidebar">
        <Sidebar onChosen={close} />
      </div>
    </dialog>
  );
}
