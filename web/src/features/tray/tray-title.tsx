import { resultOf } from '../../model/uploads/result.ts';
import type { AllUploads } from '../../model/uploads/upload-model.ts';
import { useFullLanguage } from '../../platform/text/language-context.ts';
import { Icon, type IconName } from '../../ui/icon.tsx';
import { useChanges } from '../models.ts';
import { activeDetails, activeTitle } from './status-text.ts';

/** How it stands in all, in one line. */
export function TrayTitle({ all, isOpen }: { all: AllUploads | null; isOpen: boolean }) {
  const changes = useChanges();
  const { text, formats } = useFullLanguage();
  const { running } = changes;
  const [operation] = running.value;

  if (all?.isBusy.value) {
    const summary = all.summary.value;
    const rest = all.isOnline.value ? activeDetails(summary, text, formats) : [text.uploads.offline];
    return <Line icon="upload" title={activeTitle(summary, text)} rest={rest} />;
  }
  if (all && all.reading.value !== null)
    return <Line icon="upload" title={text.uploads.reading({ count: all.reading.value })} />;
  if (all && all.items.value.length > 0) {
    const [title = '', ...rest] = resultOf(all.summary.value, text);
    return <Line icon={all.summary.value.count.failed > 0 ? 'warning' : 'check'} title={title} rest={rest} />;
  }
  // Below, it is named once more.
  if (operation && running.value.length === 1 && !isOpen) return <Line title={operation.title} />;
  return <Line title={text.uploads.changes({ count: running.value.length })} />;
}

function Line({ icon, title, rest = [] }: { icon?: IconName; title: string; rest?: readonly string[] }) {
  return (
    <>
      {icon && <Icon name={icon} class={icon} />}
      <span class="words">
        <span class="title">{title}</span>
        {rest.length > 0 && <span class="rest numbers">{rest.join(' · ')}</span>}
      </span>
    </>
  );
}
