import { useLayoutEffect, useRef } from 'preact/hooks';
import { folderName } from '../../platform/text/folder-name.ts';
import type { InitialText } from '../../platform/text/language.ts';
import { useLanguage } from '../../platform/text/language-context.ts';
import { Icon } from '../../ui/icon.tsx';
import type { Dragging } from './dragging.ts';
import { useDragging } from './dragging.ts';
import './dragging.css';

/** Shows the destination of a drop, or why the drop would fail. */
export function DropHint() {
  const dragging = useDragging();
  const { text } = useLanguage();
  const words = wordsOf(dragging, text);
  if (words === '') return null;
  const isUpload = dragging.what.value === 'files';
  const icon = dragging.refusal.value ? 'warning' : isUpload ? 'upload' : dragging.isCopy.value ? 'copy' : 'move';
  return <Hint icon={icon} words={words} />;
}

function Hint({ icon, words }: { icon: 'warning' | 'upload' | 'copy' | 'move'; words: string }) {
  const hint = useRef<HTMLDivElement>(null);
  // A popover is shown above dialogs. Browsers without popovers show it as a normal element.
  useLayoutEffect(() => hint.current?.showPopover?.(), []);
  return (
    <div class={`drop-hint ${icon}`} popover="manual" ref={hint}>
      <p>
        <Icon name={icon} />
        <span>{words}</span>
      </p>
    </div>
  );
}

function wordsOf({ what, target, refusal, count, isCopy }: Dragging, text: InitialText): string {
  const { dragging } = text;
  const folder = target.value;
  if (refusal.value) return dragging[refusal.value];
  if (folder === null) return '';
  if (what.value === 'files') return dragging.drop({ folder: folderName(folder, text) });
  const say = isCopy.value ? dragging.copy : dragging.move;
  return say({ count: count.value, folder: folderName(folder, text) });
}
