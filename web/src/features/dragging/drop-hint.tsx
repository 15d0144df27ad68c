import { useLayoutEffect, useRef } from 'preact/hooks';
import type { InitialText } from '../../platform/text/language.ts';
import { useLanguage } from '../../platform/text/language-context.ts';
import { folderName } from '../../platform/text/names.ts';
import { Icon } from '../../ui/icon.tsx';
import { type Dragging, useDragging } from './dragging.ts';
import './dragging.css';

/** Shows the destination of a drop, or why the drop would fail. */
export function DropHint() {
  const dragging = useDragging();
  const { text } = useLanguage();
  const label = describeDrop(dragging, text);
  if (label === '') return null;
  const isUpload = dragging.kind.value === 'files';
  const icon = dragging.rejection.value ? 'warning' : isUpload ? 'upload' : dragging.isCopy.value ? 'copy' : 'move';
  return <Hint icon={icon} label={label} />;
}

function Hint({ icon, label }: { icon: 'warning' | 'upload' | 'copy' | 'move'; label: string }) {
  const hint = useRef<HTMLDivElement>(null);
  // A popover is shown above dialogs. Browsers without popovers show it as a normal element.
  useLayoutEffect(() => hint.current?.showPopover?.(), []);
  return (
    <div class={`drop-hint ${icon}`} popover="manual" ref={hint}>
      <p>
        <Icon name={icon} />
        <span>{label}</span>
      </p>
    </div>
  );
}

function describeDrop({ kind, target, rejection, count, isCopy }: Dragging, text: InitialText): string {
  const { dragging } = text;
  const folder = target.value;
  if (rejection.value) return dragging[rejection.value];
  if (folder === null) return '';
  if (kind.value === 'files') return dragging.drop({ folder: folderName(folder, text) });
  const describe = isCopy.value ? dragging.copy : dragging.move;
  return describe({ count: count.value, folder: folderName(folder, text) });
}
