import { Icon } from '../controls/icon.tsx';
import type { IconName } from '../controls/icons.ts';
import { useLanguage, usePage } from '../page.ts';
import type { Formats } from '../text/formats.ts';
import type { Text } from '../text/language.ts';
import type { AllUploads } from '../uploads/all-uploads.ts';
import { resultOf } from '../uploads/result.ts';
import type { UploadSummary } from '../uploads/tally.ts';

/** How it stands in all, in one line. */
export function TrayTitle({ all, isOpen }: { all: AllUploads | null; isOpen: boolean }) {
  const { changes } = usePage();
  const { text, formats } = useLanguage();
  const { running } = changes;
  const [operation] = running.value;

  if (all?.isBusy.value) {
    const summary = all.summary.value;
    const rest = all.isOnline.value ? progressed(summary, text, formats) : [text.uploads.offline];
    return <Line icon="upload" title={uploading(summary, text)} rest={rest} />;
  }
  if (all && all.reading.value !== null) return <Line icon="upload" title={text.uploads.reading(all.reading.value)} />;
  if (all && all.items.value.length > 0) {
    const [title = '', ...rest] = resultOf(all.summary.value, text);
    return <Line icon={all.summary.value.count.failed > 0 ? 'warning' : 'check'} title={title} rest={rest} />;
  }
  // Below, it is named once more.
  if (operation && running.value.length === 1 && !isOpen) return <Line title={operation.title} />;
  return <Line title={text.uploads.changes(running.value.length)} />;
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

/** Bytes per second below which the speed says nothing: that of small files is the service's. */
const SLOWEST = 1000;

/** Of those that are stored in the end, which one it is at. */
function uploading({ count }: UploadSummary, { uploads }: Text): string {
  const total = count.done + count.sending + count.waiting + count.asking;
  return uploads.uploading(Math.min(total, count.done + 1), total);
}

function progressed(
  { part, speed, secondsLeft, count }: UploadSummary,
  { uploads }: Text,
  formats: Formats,
): readonly string[] {
  // All is done only when it is: the last bytes have still to be stored.
  const percent = formats.percent(Math.min(99, Math.floor(part * 100)) / 100);
  return [
    percent,
    speed !== null && speed >= SLOWEST ? formats.speed(speed) : '',
    secondsLeft !== null ? uploads.left(formats.duration(secondsLeft)) : '',
    count.failed > 0 ? uploads.failed(count.failed) : '',
  ].filter((word) => word !== '');
}
