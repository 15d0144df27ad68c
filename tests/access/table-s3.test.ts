import { s3 } from '../contract/backend.ts';
import { accessTable } from './table.ts';

accessTable(s3, { thorough: ['a session'] });
