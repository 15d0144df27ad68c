import { useLayoutEffect, useRef } from 'preact/hooks';
import { type Text, useFullLanguage } from '../../platform/text/language.ts';
import { folderName } from '../../platform/text/names.ts';
import { Icon } from '../../ui/icon.tsx';
import type { Dragging } from './drag-state.ts';
import { useDragging } from './dragging.ts';

/** Shows the destination of a drop, or why the drop would fail. */
export function DropHint() {
  const dragging = useDragging();
  const { text } = useFullLanguage();
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

function describeDrop({ kind, target, rejection, count, isCopy }: Dragging, text: Text): string {
  const folder = target.value;
  if (rejection.value) return text.dragging[rejection.value];
  if (folder === null) return '';
  if (kind.value === 'files') return text.drops.upload({ folder: folderName(folder, text) });
  const describe = isCopy.value ? text.drops.copy : text.drops.move;
  return describe({ count: count.value, folder: folderName(folder, text) });
}
