import { copyFileSync, mkdirSync, mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** What the folder is made of: paths of files, and the network's labels where it has several outputs. */
export interface FolderParts {
  readonly network: string;
  readonly tokenizer: string;
  readonly labels?: Readonly<Record<string, string>>;
}

/** Lays a model out as Hugging Face does; gives the folder's path. */
export function huggingFaceFolder({ network, tokenizer, labels }: FolderParts): string {
  const folder = mkdtempSync(join(tmpdir(), 'portcullis-hf-'));
  mkdirSync(join(folder, 'onnx'));
  copyFileSync(network, join(folder, 'onnx', 'model.onnx'));
  copyFileSync(tokenizer, join(folder, 'tokenizer.json'));
  writeFileSync(join(folder, 'config.json'), JSON.stringify({ model_type: 'bert', id2label: labels }));
  const tokens = {
    cls_token: '[CLS]',
    sep_token: '[SEP]',
    unk_token: '[UNK]',
    pad_token: '[PAD]',
    mask_token: '[MASK]',
  };
  writeFileSync(join(folder, 'tokenizer_config.json'), JSON.stringify({ tokenizer_class: 'BertTokenizer', ...tokens }));
  return folder;
}
