import type { Operation } from '../../model/changes/changes.ts';
import { useFullLanguage } from '../../platform/text/language-context.ts';
import { IconButton } from '../../ui/button.tsx';
import { Icon } from '../../ui/icon.tsx';
import { ProgressBar } from '../../ui/progress-bar.tsx';

/** A change that takes a while. */
export function OperationRow({ operation }: { operation: Operation }) {
  const { text, formats } = useFullLanguage();
  const { title, progress } = operation;
  const { done, total, bytes } = progress.value;
  const items = total === null ? text.folder.items({ count: done }) : text.uploads.itemsOf({ count: done, total });

  return (
    <li class="operation">
      <Icon name="folder" />
      <div class="what">
        <p class="name" dir="auto" title={title}>
          {title}
        </p>
        <ProgressBar label={title} part={total === null || total === 0 ? null : done / total} />
        <p class="how numbers">{bytes > 0 ? `${items} · ${formats.size(bytes)}` : items}</p>
      </div>
      <IconButton
        icon="close"
        label={text.uploads.cancelChange({ message: title })}
        onClick={() => operation.cancel()}
      />
    </li>
  );
}
